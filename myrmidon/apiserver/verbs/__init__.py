"""The verbs: what a request does, after its resource type is known.

dispatch                  runs the verb of a call, and turns its result into a response
create update delete      writes
patch apply               PATCH; ``patch_documents`` reads merge, JSON and strategic patches
list watch                reads of collections
scale subresources        scale; binding, tokens; ``containers`` for logs and exec
eviction                  eviction of a pod under its disruption budget
reviews                   access and token reviews
bodies options selectors  read the body, the query options and the selectors of a request;
                          ``shard_selectors`` for the shards of a sharded list or watch
warning_headers           the Warning headers of a response
tables managed_fields     responses as tables; field ownership after a write
"""

__all__: list[str] = []
