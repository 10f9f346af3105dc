"""The set of fields of a value: those that an apply claims (``claimed``), or all (``everything``).

The two differ in the fields above the leaves.  A manager that applies ``spec: {x: 1}`` claims ``x``
but not ``spec``, because ``spec`` is part of the schema.  A manager that creates an object owns
every field that was not there before.
"""

from typing import Any

from myrmidon.apiserver.fields.elements import SELF
from myrmidon.apiserver.fields.fieldset import Node, as_member, ordered
from myrmidon.apiserver.fields.listing import ShapeError, grouped
from myrmidon.apiserver.fields.shapes import DEDUCED, Shape


def claimed(value: Any, shape: Shape) -> Node:
    """Return the fields that an applied object claims, as the root node of a field set."""
    return _claimed(value, shape) or {}


def _claimed(value: Any, shape: Shape) -> Node | None:
    """Return the claimed fields inside a value; an empty node for a leaf, None for none."""
    match shape.atoms_of(value)[0]:
        case "m":
            return {} if shape.atomic_map else _claimed_in_map(value, shape)
        case "l":
            return _claimed_in_list(value, shape) if shape.associative else {}
        case _:
            return {}


def _claimed_in_map(value: Any, shape: Shape) -> Node | None:
    if not isinstance(value, dict):
        return None
    fields, inside = shape.fields, {}
    for name in sorted(value):
        item = value[name]
        declared = fields.get(name)
        child = declared or shape.element
        if child is None:
            raise ShapeError(f".{name}: field not declared in schema")
        node = _claimed(item, child)
        if declared is None or item is None or item == {}:
            node = as_member(node)
        if node is not None:
            inside["f:" + name] = node
    return inside or None


def _claimed_in_list(value: Any, shape: Shape) -> Node | None:
    if not isinstance(value, list):
        return None
    inside: Node = {}
    for element, items in grouped(value, shape).items():
        alone = len(items) == 1  # duplicates have an owner, but the fields inside them do not
        inside[element] = as_member(_claimed(items[0], shape.item)) if alone else {}
    return ordered(inside) or None


def everything(value: Any, shape: Shape) -> Node:
    """Return all fields of a value that was added or removed as a whole, itself included."""
    if isinstance(value, dict) and "m" in shape.atoms:
        return _every_field(value, shape) if value and not shape.atomic_map else {}
    if isinstance(value, list) and shape.associative:
        return _every_item(value, shape) if value else {}
    return {}


def _every_field(value: dict[str, Any], shape: Shape) -> Node:
    if shape is DEDUCED:
        return _every_key(value)
    inside: Node = {SELF: {}}
    fields = shape.fields
    for name in sorted(value):
        child = fields.get(name) or shape.element
        if child is None:
            raise ShapeError(f".{name}: field not declared in schema")
        item = value[name]
        # Most fields are scalars; this saves a call for each.
        is_deep = isinstance(item, dict | list)
        inside["f:" + name] = everything(item, child) if is_deep else {}
    return inside


def _every_key(value: dict[str, Any]) -> Node:
    """Return all fields of a value without a schema: maps have fields, lists are leaves."""
    inside: Node = {SELF: {}}
    for name in sorted(value):
        item = value[name]
        inside["f:" + name] = _every_key(item) if item and isinstance(item, dict) else {}
    return inside


def _every_item(value: list[Any], shape: Shape) -> Node:
    inside: Node = {SELF: {}}
    for element, items in grouped(value, shape).items():
        inside[element] = everything(items[0], shape.item) if len(items) == 1 else {}
    return ordered(inside)
