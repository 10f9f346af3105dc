"""The verbs: what a request does, after its resource type is known.

dispatch                  runs the verb of a call, and turns its result into a response
create update delete      writes
patch apply               PATCH; ``patch_documents`` reads merge, JSON and strategic patches
list watch                reads of collections
scale subresources        scale; binding, eviction, tokens; ``containers`` for logs and exec
reviews                   access and token reviews
bodies options selectors  read the body, the query options and the selectors of a request;
                          ``shard_selectors`` for the shards of a sharded list or watch
tables managed_fields     responses as tables; field ownership after a write
"""

__all__: list[str] = []
