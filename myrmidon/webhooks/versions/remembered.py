"""Remember the fields that a conversion loses, and put them back later.

A conversion to another version and back changes an object wherever the other version cannot express it.
``remember(base, wanted)`` describes how the object (``wanted``) differs from what comes back (``base``);
``put_back(base, memory)`` returns ``wanted`` again.

Between the two, a client may have edited the object in the other version, so that another base comes
back.  An edit wins: a remembered value is put back only where the base is as it was when the value was
remembered, which a short digest of that part of the base tells.  This is a three-way merge in which a
conflict is decided for the edit.

The memory is a tree of JSON:

    {"f": {field: node}}                          an object: nodes of some of its fields
    {"k": keys, "o": order, "s": d, "i": nodes}   a list whose elements have keys: nodes by key, and
                                                  the order of all keys if the base's order has digest d
    {"e": [d, ...], "i": {"0": node}}             another list of objects, of the same length on both
                                                  sides: digests of all elements, nodes by index
    {"v": value, "d": d}                          put the value in place of one with digest d
    {"v": value}                                  put the value where there is none
    {"d": d}                                      remove a value with digest d

A node whose place has become another type of value is dropped.  Where fields of an object were exchanged for
others (one was removed, another put in), an edit of the one that was removed also drops those that were put in:
otherwise the object could end up with both alternatives, or with one that the edit has deleted.

Elements of a list with keys are followed by key if the base has no key that ``wanted`` does not have; then
elements that only ``wanted`` has are put back whatever happened to the others.  Elements of any other list
are found again wherever they have moved to.  One that was edited is recognised by its index, and only if the
length is the same and no other element has moved there.  A list that the conversion makes longer or shorter
is remembered as a whole, so any edit of it wins as a whole.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import same
from myrmidon.webhooks.versions.list_keys import ListShape, Shape, inside

Memory: TypeAlias = Json

_DIGEST_CHARACTERS = 12


class _Absent:
    """Stands for a field that an object does not have."""


_ABSENT: Final = _Absent()


def remember(base: Json, wanted: Json, shape: Shape = None) -> Memory | None:
    """Return how ``wanted`` differs from ``base``; None if it does not.

    ``shape`` tells which lists have keys.
    """
    return _node(base, wanted, shape)


def read_memory(text: str) -> Memory | None:
    """Return the memory in the text of an annotation; None if a client has put anything else there."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if _is_node(found) and "f" in found else None


def lost_paths(memory: Mapping[str, Any], at: str = "") -> list[str]:
    """Return the paths of all remembered values, for people; elements of lists as ``ports[]``.

    A null in place of an absent field is left out: for a model they are the same.
    """
    if "f" in memory:
        nodes = [(f"{at}.{field}" if at else field, node) for field, node in memory["f"].items()]
    elif "i" in memory:
        nodes = [(f"{at}[]", node) for node in memory["i"].values()]
    else:
        return [] if memory == {"v": None} else [at]
    return list(dict.fromkeys(path for name, node in nodes for path in lost_paths(node, name)))


def write_memory(memory: Memory) -> str:
    """Return a memory as text."""
    return _text(memory)


def put_back(base: Json, memory: Mapping[str, Any]) -> Json:
    """Return the base with the remembered values where it is as it was when they were remembered."""
    found: Json = _put(base, memory)
    return found


def _node(base: Any, wanted: Any, shape: Shape) -> Memory | None:
    if not isinstance(base, _Absent) and not isinstance(wanted, _Absent):
        if same(base, wanted):
            return None
        if isinstance(base, dict) and isinstance(wanted, dict):
            return {"f": _fields(base, wanted, shape)}
        if isinstance(base, list) and isinstance(wanted, list):
            node = _keyed_list(base, wanted, shape) or _indexed_list(base, wanted, shape)
            if node is not None:
                return node
    leaf: Memory = {}
    if not isinstance(wanted, _Absent):
        leaf["v"] = wanted
    if not isinstance(base, _Absent):
        leaf["d"] = _digest(base)
    return leaf


def _fields(base: Json, wanted: Json, shape: Shape) -> dict[str, Memory]:
    nodes = {}
    for field in dict.fromkeys((*base, *wanted)):
        node = _node(base.get(field, _ABSENT), wanted.get(field, _ABSENT), inside(shape, field))
        if node is not None:
            nodes[field] = node
    return nodes


def _keyed_list(base: list[Any], wanted: list[Any], shape: Shape) -> Memory | None:
    if not isinstance(shape, ListShape) or not shape.keys:
        return None
    before, after = _by_key(base, shape.keys), _by_key(wanted, shape.keys)
    if before is None or after is None or not before.keys() <= after.keys():
        return None
    nodes = {}
    for key in after:
        node = _node(before.get(key, _ABSENT), after.get(key, _ABSENT), shape.items)
        if node is not None:
            nodes[key] = node
    order = {"k": list(shape.keys), "o": list(after), "s": _digest(list(before))}
    return {**order, "i": nodes}


def _by_key(elements: Sequence[Any], keys: Sequence[str]) -> dict[str, Any] | None:
    """Return the elements by their keys, as text; None if these do not tell them apart."""
    if not all(isinstance(element, dict) for element in elements):
        return None
    found = {_text([element.get(key) for key in keys]): element for element in elements}
    return found if len(found) == len(elements) else None


def _indexed_list(base: list[Any], wanted: list[Any], shape: Shape) -> Memory | None:
    if len(base) != len(wanted) or not all(isinstance(each, dict) for each in (*base, *wanted)):
        return None
    items = shape.items if isinstance(shape, ListShape) else None
    nodes = {}
    for index, (before, after) in enumerate(zip(base, wanted, strict=True)):
        node = _node(before, after, items)
        if node is not None:
            nodes[str(index)] = node
    return {"e": [_digest(element) for element in base], "i": nodes}


# ------------------------------------------------------------------------- putting back


def _put(base: Any, node: Mapping[str, Any]) -> Any:
    if "f" in node:
        return _put_fields(base, node["f"]) if isinstance(base, dict) else base
    if "k" in node:
        return _put_by_key(base, node) if isinstance(base, list) else base
    if "e" in node:
        return _put_by_index(base, node) if isinstance(base, list) else base
    was_absent = "d" not in node
    if isinstance(base, _Absent):
        return node["v"] if was_absent else base
    if was_absent or node["d"] != _digest(base):
        return base
    return node.get("v", _ABSENT)


def _put_fields(base: Json, nodes: Mapping[str, Any]) -> Json:
    made = dict(base)
    removed = [field for field, node in nodes.items() if node.keys() == {"d"}]
    exchanged = all(each in base and nodes[each]["d"] == _digest(base[each]) for each in removed)
    for field, node in nodes.items():
        if node.keys() == {"v"} and not exchanged:
            continue
        _assign(made, field, _put(base.get(field, _ABSENT), node))
    return made


def _assign(target: dict[str, Any], key: str, value: Any) -> None:
    if isinstance(value, _Absent):
        target.pop(key, None)
    else:
        target[key] = value


def _put_by_key(base: list[Any], node: Mapping[str, Any]) -> list[Any]:
    elements = _by_key(base, node["k"])
    if elements is None:
        return base
    as_before = node["s"] == _digest(list(elements))
    for key, inner in node["i"].items():
        _assign(elements, key, _put(elements.get(key, _ABSENT), inner))
    order = node["o"] if as_before and sorted(node["o"]) == sorted(elements) else list(elements)
    return [elements[key] for key in order]


def _put_by_index(base: list[Any], node: Mapping[str, Any]) -> list[Any]:
    places = _places(node["e"], [_digest(element) for element in base])
    made = list(base)
    for index, inner in node["i"].items():
        place = places.get(int(index))
        if place is not None:
            made[place] = _put(made[place], inner)
    return made


def _places(before: Sequence[str], now: Sequence[str]) -> dict[int, int]:
    """Return where each element is now, by the digests of the elements then and now."""
    places: dict[int, int] = {}
    for digest in dict.fromkeys(before):
        then = [index for index, each in enumerate(before) if each == digest]
        today = [index for index, each in enumerate(now) if each == digest]
        if len(then) == len(today):
            places.update(zip(then, today, strict=True))
    if len(before) == len(now):
        taken = set(places.values())
        for index in range(len(before)):
            if index not in places and index not in taken:
                places[index] = index
    return places


def _is_node(node: Any) -> bool:
    """Whether a value has the form of a node, so that nothing in it can fail later."""
    match node:
        case {"f": dict() as nodes, **rest}:
            return not rest and all(map(_is_node, nodes.values()))
        case {"k": list() as keys, "o": list() as order, "s": str(), "i": dict() as nodes, **rest}:
            texts = all(isinstance(each, str) for each in (*keys, *order))
            return texts and not rest and all(map(_is_node, nodes.values()))
        case {"e": list(), "i": dict() as nodes, **rest}:
            whole = all(index.isascii() and index.isdigit() for index in nodes)
            return whole and not rest and all(map(_is_node, nodes.values()))
        case {"d": str(), **rest} | {"v": _, **rest}:
            return rest.keys() <= {"v"}
        case _:
            return False


def _digest(value: Any) -> str:
    return sha256(_text(_plain(value)).encode()).hexdigest()[:_DIGEST_CHARACTERS]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _plain(value: Any) -> Any:
    """Return the value with numbers as JSON compares them: ``1.0`` is ``1``."""
    match value:
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value
