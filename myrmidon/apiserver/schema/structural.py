"""From the schema of a CustomResourceDefinition to the nodes that everybody walks."""

from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.schema_node import ListType, Schema

_LIST_TYPES: dict[Any, ListType] = {"set": "set", "map": "map"}


def compile_schema(openapi_v3: Json) -> Schema:
    """Compile an ``openAPIV3Schema``.

    The definition has passed ``check_definition``, so it is structural: what ``anyOf`` and its
    like say about values is left in ``source``, and the types are all outside them.
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
    """The schema of a map's values.

    ``additionalProperties: true`` allows any key but says nothing about the values: scalars stay,
    nulls stay, the fields of objects are unknown.  ``false`` prunes nothing either: such keys are
    refused when the object is validated.
    """
    if isinstance(additional, dict):
        return compile_schema(additional)
    return None if additional is None else Schema(nullable=True)
