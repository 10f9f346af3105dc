"""Which lists of a model have keys: the elements of a ``ListMap`` are told apart by key fields.

``remembered`` follows an element of such a list by its key.  Elements of other lists are told apart by
their place and content only.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from myrmidon.api.typed.markers import ListMap
from myrmidon.api.typed.model import Model


@dataclass(frozen=True, slots=True)
class ListShape:
    """A list: the key fields of its elements as on the wire, ``()`` for none, and their type."""

    keys: tuple[str, ...]
    items: "Shape"


@dataclass(frozen=True, slots=True)
class MapShape:
    """A map from any key to values of one type."""

    values: "Shape"


@dataclass(frozen=True, slots=True)
class FieldsShape:
    """An object whose fields have different types, and which is not a model."""

    fields: Mapping[str, "Shape"]


Shape: TypeAlias = ListShape | MapShape | FieldsShape | type[Model] | None
"""The type of a field, as far as there can be lists in it."""


def inside(shape: Shape, field: str) -> Shape:
    """Return the shape of a field of an object, by its name on the wire."""
    match shape:
        case MapShape():
            return shape.values
        case FieldsShape():
            return shape.fields.get(field)
        case type():
            return _fields_of(shape).get(field)
        case _:
            return None


@cache
def _fields_of(model: type[Model]) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {}
    for name, field in model.model_fields.items():
        keys = _keys(field.metadata)
        shapes[_wire_name(name, field)] = _shape(field.annotation, keys)
    return shapes


def _shape(annotation: Any, keys: tuple[str, ...] = ()) -> Shape:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return annotation
    if origin is Annotated:
        return _shape(arguments[0], keys or _keys(arguments[1:]))
    if origin in (Union, UnionType):
        found = [shape for each in arguments if (shape := _shape(each, keys)) is not None]
        return found[0] if len(found) == 1 else None
    if origin is list:
        items = _shape(arguments[0])
        return ListShape(tuple(_on_the_wire(items, key) for key in keys), items)
    if origin is dict:
        return MapShape(_shape(arguments[1]))
    return None


def _keys(markers: Any) -> tuple[str, ...]:
    return next((each.keys for each in markers if isinstance(each, ListMap)), ())


def _on_the_wire(items: Shape, key: str) -> str:
    """Return the name of a key field in JSON; a ``ListMap`` may name it as in Python."""
    field = items.model_fields.get(key) if isinstance(items, type) else None
    return key if field is None else _wire_name(key, field)


def _wire_name(name: str, field: FieldInfo) -> str:
    return field.serialization_alias or field.alias or name
