"""Path elements of the items of lists of type map (by key) and of type set (by value)."""

from collections.abc import Sequence
from typing import Any

from myrmidon.apiserver.fields import elements
from myrmidon.apiserver.fields.elements import Element
from myrmidon.apiserver.fields.shapes import Shape


class ShapeError(ValueError):
    """A value does not fit its schema, so the owners of its fields cannot be determined."""


def element_of(item: Any, shape: Shape) -> Element:
    """Return the path element of an item; raise ``ShapeError`` if it has none."""
    return _by_keys(item, shape) if shape.keys else _by_value(item)


def _by_keys(item: Any, shape: Shape) -> Element:
    if item is None:
        raise ShapeError("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise ShapeError("associative list with keys may not have non-map elements")
    found: dict[str, Any] = {}
    for key in shape.keys:
        value = item[key] if key in item else shape.default_of_key(key)
        if value is not None or key in item:
            found[key] = value
    if not found:
        names = " ".join(f'"{key}"' for key in shape.keys)
        raise ShapeError(
            f"associative list with keys has an element that omits all key fields [{names}]"
            " (and doesn't have default values for any key fields)"
        )
    return elements.keys(found)


def _by_value(item: Any) -> Element:
    match item:
        case dict():
            raise ShapeError("associative list without keys has an element that's a map type")
        case list():
            raise ShapeError("not supported: associative list with lists as elements")
        case None:
            raise ShapeError("associative list without keys has an element that's an explicit null")
        case _:
            return elements.member(item)


def grouped(items: Sequence[Any], shape: Shape) -> dict[Element, list[Any]]:
    """Return the items by path element, in order; an element with duplicates has several."""
    groups: dict[Element, list[Any]] = {}
    for index, item in enumerate(items):
        try:
            element = element_of(item, shape)
        except ShapeError as error:
            raise ShapeError(f"element {index}: {error}") from error
        groups.setdefault(element, []).append(item)
    return groups
