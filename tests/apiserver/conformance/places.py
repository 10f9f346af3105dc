"""Places in a JSON document, as scenarios name them.

metadata.name                    keys
metadata.annotations["a.b/c"]    a key with dots in it
items[0]  items[*]               one element, every element
conditions[type=Ready].status    the elements of which a field has a value
**.uid                           at any depth
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_PART = re.compile(
    r'(?P<deep>\*\*)|(?P<every>\[\*\])|\[(?P<index>-?\d+)\]|\["(?P<quoted>[^"]*)"\]'
    r"|\[(?P<field>[\w.\-/]+)=(?P<value>[^\]]*)\]|(?P<key>[^.\[\]]+)"
)


class Absent:
    """The value of a missing place."""

    def __repr__(self) -> str:
        return "<absent>"

    def __bool__(self) -> bool:
        return False


ABSENT = Absent()


class Place(NamedTuple):
    """A value, and its container."""

    holder: Any
    key: Any
    value: Any


def find(document: Any, path: str) -> list[Any]:
    """Return all values at a path, in the order of the document."""
    return [place.value for place in _places(document, path)]


def first(document: Any, path: str) -> Any:
    """Return the first value at a path, ``ABSENT`` if there is none."""
    return next((place.value for place in _places(document, path)), ABSENT)


def remove(document: Any, path: str) -> None:
    """Remove all values at a path."""
    for place in reversed(list(_places(document, path))):  # from the end: indices stay valid
        if place.holder is not None:
            del place.holder[place.key]


def _places(document: Any, path: str) -> Iterator[Place]:
    found = [Place(None, None, document)]
    for part in _parse(path):
        found = [nested for place in found for nested in part(place)]
    return iter(found)


def _parse(path: str) -> list[Callable[[Place], list[Place]]]:
    parts: list[Callable[[Place], list[Place]]] = []
    position = 0
    while position < len(path):
        position += path[position] == "." and bool(parts)
        match = _PART.match(path, position)
        if match is None:
            raise ValueError(f"bad path {path!r} at {position}")
        position = match.end()
        parts.append(_step(match))
    return parts


def _step(match: re.Match[str]) -> Callable[[Place], list[Place]]:
    match match.lastgroup:
        case "deep":
            return _at_any_depth
        case "every":
            return _children
        case "index":
            index = int(match["index"])
            return lambda place: _element(place, index)
        case "value":
            field, value = match["field"], match["value"]
            return lambda place: [
                nested for nested in _children(place) if str(first(nested.value, field)) == value
            ]
        case _:
            key = match["quoted"] if match["quoted"] is not None else match["key"]
            return lambda place: _member(place, key)


def _member(place: Place, key: str) -> list[Place]:
    if isinstance(place.value, dict) and key in place.value:
        return [Place(place.value, key, place.value[key])]
    return []


def _element(place: Place, index: int) -> list[Place]:
    if isinstance(place.value, list) and -len(place.value) <= index < len(place.value):
        return [Place(place.value, index, place.value[index])]
    return []


def _children(place: Place) -> list[Place]:
    if isinstance(place.value, dict):
        return [Place(place.value, key, value) for key, value in place.value.items()]
    if isinstance(place.value, list):
        return [Place(place.value, index, value) for index, value in enumerate(place.value)]
    return []


def _at_any_depth(place: Place) -> list[Place]:
    return [place, *(nested for child in _children(place) for nested in _at_any_depth(child))]
