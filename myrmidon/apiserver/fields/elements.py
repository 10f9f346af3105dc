"""Path elements: the keys of FieldsV1, each one step from an object towards a field.

An element is a string, exactly as it appears in managedFields: ``f:spec`` for a field of a map,
``k:{"name":"x"}`` for an item of a list with keys, ``v:"x"`` for a member of a set, and ``i:0`` for
an index, which the server reads but never writes.  Elements are always written in one canonical
form (keys in alphabetical order, JSON without spaces), so equal elements are equal strings.
"""

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, TypeAlias

import orjson

from myrmidon.apiserver.golang.numbers import read_int

Element: TypeAlias = str
Path: TypeAlias = tuple[Element, ...]

SELF = "."  # in FieldsV1: the field itself is owned, not only what is in it

_KINDS = "fkvi"  # in the order in which the real server writes them
_ESCAPED = re.compile("[<>&\u2028\u2029]")
_TYPES_ORDER: dict[type, int] = {float: 0, int: 0, str: 1, bool: 2, list: 3, dict: 4}


class ElementError(ValueError):
    """A key in FieldsV1 is not a path element."""


def field(name: str) -> Element:
    """Return the element for a field of a map or struct."""
    return "f:" + name


def keys(values: dict[str, Any]) -> Element:
    """Return the element for an item of a list with keys; ``keys`` must be in alphabetical order."""
    return "k:" + to_json(values)


def member(value: Any) -> Element:
    """Return the element for a member of a set."""
    return "v:" + to_json(value)


def to_json(value: Any) -> str:
    """Return JSON as Go writes it in a path element: compact, and escaped for HTML."""
    written = orjson.dumps(value).decode()
    if ".0" in written:
        written = orjson.dumps(_plain(value)).decode()
    if _ESCAPED.search(written):
        return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", written)
    return written


def _plain(value: Any) -> Any:
    """Return whole floats as integers, because 1.0 and 1 are the same member of a set."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def name_of(element: Element) -> str:
    """Return the field name of an ``f:`` element; ``""`` for elements of lists."""
    return element[2:] if element.startswith("f:") else ""


def canonical(element: Element) -> Element | None:
    """Return the element in canonical form; None for an unknown type of element.

    Raises ``ElementError`` for a string that is not an element at all.
    """
    if len(element) < 2:
        raise ElementError("key must be 2 characters long:")
    kind, colon, rest = element[0], element[1], element[2:]
    if colon != ":":
        raise ElementError(f"missing colon: {element}")
    try:
        match kind:
            case "f":
                return element
            case "v":
                return member(orjson.loads(rest))
            case "k":
                return keys(dict(sorted(orjson.loads(rest).items())))
            case "i":
                return f"i:{read_int(rest)}"
            case _:
                return None
    except (ValueError, AttributeError) as error:
        raise ElementError(f"{element}: {error}") from error


@lru_cache(maxsize=4096)
def order(element: Element) -> tuple[Any, ...]:
    """Return the sort key of an element: fields by name, list items by key and value."""
    if element == SELF:
        return (-1,)
    rest = element[2:]
    match element[0]:
        case "f":
            return (0, rest)
        case "k":
            items = json.loads(rest).items()
            return (1, *((name, _rank(value)) for name, value in items))
        case "v":
            return (2, _rank(json.loads(rest)))
        case _:
            return (_KINDS.index(element[0]), int(rest))


def _rank(value: Any) -> tuple[int, Any]:
    kind = _TYPES_ORDER.get(type(value), 5)
    return (kind, value if kind <= 2 else json.dumps(value))


def text(path: Iterable[Element]) -> str:
    """Return a path as conflict messages print it: ``.spec.slots[name="y"].value``."""
    return "".join(map(_text, path))


def _text(element: Element) -> str:
    rest = element[2:]
    match element[0]:
        case "f":
            return "." + rest
        case "k":
            pairs = json.loads(rest).items()
            return "[" + ",".join(f"{name}={_literal(value)}" for name, value in pairs) + "]"
        case "v":
            return f"[={_literal(json.loads(rest))}]"
        case _:
            return f"[{rest}]"


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
