"""The types of ``self`` for the checker, and the sizes of its values for the estimator.

Fields without a type (preserve-unknown-fields) are not visible to rules, nor are lists and maps of
such values.  A size is the maximum that the schema allows or, without one, the maximum that fits
into a request.
"""

from dataclasses import dataclass, field

from myrmidon.api.values.cel_names import escape
from myrmidon.apiserver.cel.adapters import resource_properties
from myrmidon.apiserver.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
    struct,
)
from myrmidon.apiserver.schema_node import Schema

SELF_TYPE = "selfType1"  # the real server uses a new number each time
LARGEST_REQUEST = 3 * 1024 * 1024
_LONGEST_TEXT = LARGEST_REQUEST - 2  # minus the quotes
_TIMES = {
    "duration": (DURATION, 32, 3),
    "date": (TIMESTAMP, 12, 12),
    "date-time": (TIMESTAMP, 32, 21),
}


@dataclass(slots=True, eq=False)
class DeclaredType:
    """A schema node as the checker and the estimator see it."""

    type: Type
    schema: Schema
    min_size: int  # the length of its shortest JSON
    max_elements: int = 0  # of characters, items or entries
    fields: dict[str, "DeclaredType"] = field(default_factory=dict)  # by their escaped names
    key: "DeclaredType | None" = None
    element: "DeclaredType | None" = None


def declare(
    schema: Schema, *, resource: bool = False, name: str = SELF_TYPE
) -> DeclaredType | None:
    """Return the declaration of a node, None if it is not visible to rules."""
    if schema.int_or_string:
        return DeclaredType(DYN, schema, 1, _text_length(schema))
    match schema.type:
        case "array":
            return _list(schema, name)
        case "object":
            resource = resource or schema.embedded_resource
            if schema.additional is not None and not resource:
                return _map(schema, name)
            return _object(schema, name, resource=resource)
        case "string":
            return _string(schema)
        case "boolean":
            return DeclaredType(BOOL, schema, 4)
        case "number":
            return DeclaredType(DOUBLE, schema, 1)
        case "integer":
            return DeclaredType(INT, schema, 1)
        case _:
            return None


def _limit(schema: Schema, key: str) -> int | None:
    value = schema.source.get(key)
    return None if value is None else max(int(value), 0)


def _text_length(schema: Schema) -> int:
    longest = _limit(schema, "maxLength")
    # A character can have four bytes.
    return _LONGEST_TEXT if longest is None else longest * 4


def _string(schema: Schema) -> DeclaredType:
    if schema.format in _TIMES:
        t, longest, shortest = _TIMES[schema.format]
        return DeclaredType(t, schema, shortest, longest)
    length = _limit(schema, "maxLength")
    if schema.format == "byte":
        return DeclaredType(BYTES, schema, 2, _LONGEST_TEXT if length is None else length)
    if length is None and (values := schema.source.get("enum")):
        longest = max((len(v.encode()) for v in values if isinstance(v, str)), default=0)
        return DeclaredType(STRING, schema, 2, longest)
    return DeclaredType(STRING, schema, 2, _text_length(schema))


def _list(schema: Schema, name: str) -> DeclaredType | None:
    element = None if schema.items is None else declare(schema.items, name=f"{name}.@idx")
    if element is None:
        return None
    most = _limit(schema, "maxItems")
    if most is None:
        most = (LARGEST_REQUEST - 2) // (element.min_size + 1)
    return DeclaredType(list_of(element.type), schema, 2, most, element=element)


def _map(schema: Schema, name: str) -> DeclaredType | None:
    assert schema.additional is not None
    element = declare(schema.additional, name=f"{name}.@elem")
    if element is None:
        return None
    most = _limit(schema, "maxProperties")
    if most is None:
        most = (LARGEST_REQUEST - 2) // (element.min_size + 6)
    key = DeclaredType(STRING, Schema(type="string"), 2)
    return DeclaredType(map_of(STRING, element.type), schema, 2, most, key=key, element=element)


def _object(schema: Schema, name: str, *, resource: bool) -> DeclaredType:
    fields: dict[str, DeclaredType] = {}
    size = 2
    properties = resource_properties(schema) if resource else schema.properties
    for field_name, node in properties.items():
        escaped = escape(field_name)
        declared = declare(node, name=f"{name}.{escaped}")
        if declared is None:
            continue
        if escaped is not None:
            fields[escaped] = declared
        if field_name in schema.required and not node.has_default:
            size += len(field_name.encode()) + declared.min_size + 4
    return DeclaredType(struct(name), schema, size, fields=fields)


def structs(declared: DeclaredType) -> dict[str, DeclaredType]:
    """Return all objects inside a declaration, by the names of their types."""
    found: dict[str, DeclaredType] = {}
    _collect(declared, found)
    return found


def _collect(declared: DeclaredType, found: dict[str, DeclaredType]) -> None:
    if declared.type.kind == "struct":
        found[declared.type.name] = declared
    for inner in declared.fields.values():
        _collect(inner, found)
    if declared.element is not None:
        _collect(declared.element, found)
