"""Bringing entries up to date before they are compared with anything.

A list or map may have become atomic since an entry was written, or may no longer be.  Its owners
keep it: as a whole in the first case, with all that is in it now in the second.  The real server
cannot tell a map that was atomic from one of which an owner has nothing but the map itself, so
such an owner gets all that is in it, too.
"""

from typing import Any

from myrmidon.apiserver.fields.elements import SELF, name_of
from myrmidon.apiserver.fields.fieldset import Node, as_member
from myrmidon.apiserver.fields.listing import ShapeError, grouped
from myrmidon.apiserver.fields.owning import claimed
from myrmidon.apiserver.fields.shapes import Shape


def reconciled(node: Node, live: Any, shape: Shape) -> Node:
    """The contents of a field as the schema of today has it; the same node if nothing changes.

    Raises ``ShapeError`` where a field that is owned is gone from the schema.
    """
    result = node
    lists = shape.atoms[0] == "l"
    parts = _parts(live, shape) if lists else live if isinstance(live, dict) else {}
    for element, inner in node.items():
        if element == SELF:
            continue
        name = name_of(element)
        child = shape.item if lists else shape.child(name)
        if child is None:
            raise ShapeError(f".{name}: field not declared in schema")
        if child.atoms == "s":
            continue
        now = _field(inner, parts.get(element if lists else name), child)
        if now is not inner:
            if result is node:
                result = dict(node)
            result[element] = now
    return result


def _field(node: Node, live: Any, shape: Shape) -> Node:
    atomic = shape.atomic_map if shape.atoms[0] == "m" else not shape.associative
    if atomic:
        return node if not node else {}
    if node:
        return reconciled(node, live, shape)
    is_whole = isinstance(live, dict | list) and live and shape.atoms_of(live) != "s"
    inside = claimed(live, shape) if is_whole else {}
    return as_member(inside) if inside else node


def _parts(live: Any, shape: Shape) -> dict[str, Any]:
    """The items of a list by path element; duplicates have nothing inside that could be owned."""
    if not isinstance(live, list):
        return {}
    groups = grouped(live, shape).items()
    return {element: items[0] for element, items in groups if len(items) == 1}
