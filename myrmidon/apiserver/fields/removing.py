"""Remove a set of fields from an object."""

from typing import Any

from myrmidon.apiserver.fields.elements import name_of
from myrmidon.apiserver.fields.fieldset import Node, as_member, is_member
from myrmidon.apiserver.fields.listing import element_of
from myrmidon.apiserver.fields.shapes import Shape


def without(value: Any, gone: Node, shape: Shape) -> Any:
    """Return the value without these fields; a map or list that loses all parts becomes null."""
    if not gone:
        return value
    match shape.atoms_of(value)[0]:
        case "s":
            return value
        case "m":
            if shape.atomic_map or not isinstance(value, dict):
                return None
            return _map_without(value, gone, shape) or None
        case _:
            if not shape.associative or not isinstance(value, list):
                return None
            return _list_without(value, gone, shape) or None


def _map_without(value: dict[str, Any], gone: Node, shape: Shape) -> dict[str, Any]:
    kept = {}
    for name, item in value.items():
        node = gone.get("f:" + name)
        if node is None:
            kept[name] = item
        elif not is_member(node):
            child = shape.child(name)
            kept[name] = item if child is None else without(item, node, child)
    return kept


def _list_without(value: list[Any], gone: Node, shape: Shape) -> list[Any]:
    kept = []
    for item in value:
        node = gone.get(element_of(item, shape))
        if node is None:
            kept.append(item)
        elif not is_member(node):
            kept.append(without(item, node, shape.item))
    return kept


def with_named_fields(node: Node, shape: Shape | None) -> Node:
    """Return the set with the schema's fields that lead to its members added.

    The set of an apply does not contain them; with them, a struct that loses all its fields is
    removed itself instead of staying empty.
    """
    return {
        element: _named(element, inner, shape) if inner else inner
        for element, inner in node.items()
    }


def _named(element: str, inner: Node, shape: Shape | None) -> Node:
    name = name_of(element)
    child: Shape | None = None
    if shape is not None and name and "m" in shape.atoms:
        child = shape.child(name)
    elif shape is not None and element.startswith("k:") and "l" in shape.atoms:
        child = shape.item
    full = with_named_fields(inner, child)
    if name and shape is not None and "m" in shape.atoms and name in shape.fields:
        return as_member(full)
    return full
