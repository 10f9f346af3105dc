"""What a schema makes of a custom object when it is sent, and when it is read from the store.

The order is that of the real server: unknown fields go, then meaningless nulls, then the metadata of embedded
objects is decoded, and defaults come last.
"""

from contextlib import suppress

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.schema.defaulting import copy_json, default
from myrmidon.apiserver.schema.embedded import EmbeddedError, coerce_embedded
from myrmidon.apiserver.schema.nulls import drop_nulls
from myrmidon.apiserver.schema.pruning import prune
from myrmidon.apiserver.schema_node import Schema


def conform(obj: Json, schema: Schema) -> list[str]:
    """Bring an object that was sent into shape, in place; the unknown fields that were dropped.

    Raises ``EmbeddedError`` if the metadata of an embedded object cannot be decoded.  The caller fills in
    the defaults, which also come after a patch.
    """
    dropped = prune(obj, schema)
    drop_nulls(obj, schema)
    return dropped + coerce_embedded(obj, schema)


def reshape(obj: Json, schema: Schema) -> Json:
    """A copy of a stored object as the schema has it by now.

    A schema may have changed since the object was stored.  What cannot be decoded stays: a stored
    object must be readable, whatever is in it.
    """
    shaped: Json = copy_json(obj)
    prune(shaped, schema)
    drop_nulls(shaped, schema)
    with suppress(EmbeddedError):
        coerce_embedded(shaped, schema)
    default(shaped, schema)
    return shaped
