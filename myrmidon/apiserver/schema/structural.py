"""Compile the schema of a CustomResourceDefinition into the nodes that all checks walk."""

from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.schema_node import ListType, Schema

_LIST_TYPES: dict[Any, ListType] = {"set": "set", "map": "map"}


def compile_schema(openapi_v3: Json) -> Schema:
    """Compile an ``openAPIV3Schema``.

    The definition must have passed ``check_definition``, so that the schema is structural: the
    types of all fields are outside ``anyOf``, ``oneOf``, ``allOf`` and ``not``.  The restrictions
    of values inside those stay in ``source``.
    """
    items, additional = openapi_v3.get("items"), openapi_v3.get("additionalProperties")
    default = openapi_v3.get("default")
    return Schema(
        type=openapi_v3.get("type") or "",
        properties={
            name: compile_schema(schema)
            for name, schema in (openapi_v3.get("properties") or {}).items()
        },
        items=compile_schema(items) if isinstance(items, dict) else None,
        additional=_map_values(additional),
        required=tuple(openapi_v3.get("required") or ()),
        list_type=_LIST_TYPES.get(openapi_v3.get("x-kubernetes-list-type"), "atomic"),
        list_map_keys=tuple(openapi_v3.get("x-kubernetes-list-map-keys") or ()),
        map_type="atomic" if openapi_v3.get("x-kubernetes-map-type") == "atomic" else "granular",
        format=openapi_v3.get("format") or "",
        nullable=bool(openapi_v3.get("nullable")),
        int_or_string=bool(openapi_v3.get("x-kubernetes-int-or-string")),
        preserve_unknown=bool(openapi_v3.get("x-kubernetes-preserve-unknown-fields")),
        embedded_resource=bool(openapi_v3.get("x-kubernetes-embedded-resource")),
        has_default=default is not None,
        default=default,
        source=openapi_v3,
    )


def _map_values(additional: Any) -> Schema | None:
    """Return the schema of a map's values, or None if the schema does not describe a map.

    ``additionalProperties: true`` allows any key and says nothing about the values: scalars and
    nulls are kept, and the fields of objects are unknown.  ``false`` does not prune either:
    validation refuses such keys.
    """
    if isinstance(additional, dict):
        return compile_schema(additional)
    return None if additional is None else Schema(nullable=True)
