"""Bring a custom object into the shape of its schema, after a request and after reading the store.

The order is that of the real server: unknown fields are pruned, then nulls of fields that are not
nullable are dropped, then the metadata of embedded objects is decoded, and defaults come last.
"""

from contextlib import suppress

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.schema.defaulting import copy_json, default
from myrmidon.apiserver.schema.embedded import EmbeddedError, coerce_embedded
from myrmidon.apiserver.schema.nulls import drop_nulls
from myrmidon.apiserver.schema.pruning import prune
from myrmidon.apiserver.schema_node import Schema


def conform(obj: Json, schema: Schema) -> list[str]:
    """Bring an object from a request into shape, in place; return the unknown fields dropped.

    Raises ``EmbeddedError`` if the metadata of an embedded object cannot be decoded.  The caller
    fills in the defaults, because they are needed after a patch as well.
    """
    dropped = prune(obj, schema)
    drop_nulls(obj, schema)
    return dropped + coerce_embedded(obj, schema)


def reshape(obj: Json, schema: Schema) -> Json:
    """Return a copy of a stored object in the shape of the current schema.

    The schema may have changed since the object was stored.  Embedded metadata that cannot be
    decoded stays as it is, because any stored object must be readable.
    """
    shaped: Json = copy_json(obj)
    prune(shaped, schema)
    drop_nulls(shaped, schema)
    with suppress(EmbeddedError):
        coerce_embedded(shaped, schema)
    default(shaped, schema)
    return shaped
