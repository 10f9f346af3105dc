"""Bringing entries up to date with a schema that has changed since they were written.

A list or map that has become atomic is owned as a whole by the managers that owned a part of it.  One that
is atomic no longer stays with its owner as it was, an owner of the whole and of no part.
"""

from myrmidon.apiserver.fields.elements import name_of
from myrmidon.apiserver.fields.fieldset import Node
from myrmidon.apiserver.fields.shapes import DEDUCED, Shape


def reconciled(node: Node, shape: Shape) -> Node:
    """The contents of a field as the schema of today has it; the same node if nothing changes."""
    result = node
    is_list = shape.atoms[0] == "l"
    for element, inner in node.items():
        if not inner:
            continue
        child = shape.item if is_list else shape.child(name_of(element))
        if child is None or child is DEDUCED:
            continue  # fields that are gone from the schema keep their owners, too
        atomic = child.atomic_map if child.atoms[0] == "m" else not child.associative
        now = {} if atomic else reconciled(inner, child)
        if now is not inner:
            if result is node:
                result = dict(node)
            result[element] = now
    return result
