"""What an object is before the first write.

The real server compares a new object with an empty Go struct.  Such a struct has structs inside
it, lists that are null and texts that are empty; these have no owner, whichever manager creates the object.
Custom resources begin with nothing but their type.
"""

from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.catalog.types import GoType
from myrmidon.apiserver.schema_node import Schema

_PLAN = "blank"


def blank_of(schema: Schema, api_version: str, kind: str) -> Json:
    """The object that a create begins with; shared, and not to be changed."""
    blank: Json | None = schema.plans.get(_PLAN)
    if blank is None:
        fields = _struct(schema) if isinstance(schema, GoType) else {}
        blank = {"apiVersion": api_version, "kind": kind, **fields}
        schema.plans[_PLAN] = blank
    return blank


def _struct(schema: GoType) -> dict[str, Any]:
    structs = {name: schema.properties[name] for name in schema.structs}
    inner = {name: _struct(part) for name, part in structs.items() if isinstance(part, GoType)}
    return inner | schema.zeros
