"""The object that a create is compared with: what exists before the first write.

The real server compares a new object with an empty Go struct.  The nested structs, null lists and
empty strings of that struct have no owner, whichever manager creates the object.  A custom resource
starts with only its apiVersion and kind.
"""

from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.catalog.types import GoType
from myrmidon.apiserver.schema_node import Schema

_PLAN = "blank"


def blank_of(schema: Schema, api_version: str, kind: str) -> Json:
    """Return the blank object of a kind.  It is shared: do not change it."""
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
