"""What a request does, once it is known which resource it is about.

dispatch                  from a call to its verb, and from a record to an answer
create update delete      writes
patch apply               PATCH; ``patch_documents`` reads merge, JSON and strategic patches
list watch                reads of many
scale subresources        scale; bind, evict, tokens; ``containers`` says that none run here
reviews                   access and token reviews
bodies options selectors  what a client sends: body, query, selectors
tables managed_fields     answers as tables; owners of fields after a write
"""

__all__: list[str] = []
