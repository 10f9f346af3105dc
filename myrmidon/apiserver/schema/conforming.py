"""What a schema makes of an object, on its way in and on its way out."""

from contextlib import suppress

from myrmidon.api.objects import Json
from myrmidon.apiserver.schema.defaulting import copy_json, default
from myrmidon.apiserver.schema.embedded import EmbeddedError, coerce_embedded
from myrmidon.apiserver.schema.nulls import drop_nulls
from myrmidon.apiserver.schema.pruning import prune
from myrmidon.apiserver.schema_node import Schema


def admit(obj: Json, schema: Schema) -> list[str]:
    """Bring an object that was sent into shape, in place; the unknown fields that were dropped.

    The order is that of the real server: unknown fields go, meaningless nulls go, the metadata of
    embedded objects is decoded (``EmbeddedError`` if that fails), defaults come.
    """
    dropped = prune(obj, schema)
    drop_nulls(obj, schema)
    dropped += coerce_embedded(obj, schema)
    default(obj, schema)
    return dropped


def reshape(obj: Json, schema: Schema) -> Json:
    """A stored object as the schema has it by now: the same one if nothing is to be changed.

    A schema may have changed since the object was stored.  What cannot be decoded stays: a stored
    object must be readable, whatever is in it.
    """
    shaped = copy_json(obj)
    prune(shaped, schema)
    drop_nulls(shaped, schema)
    with suppress(EmbeddedError):
        coerce_embedded(shaped, schema)
    default(shaped, schema)
    return obj if shaped == obj else shaped
