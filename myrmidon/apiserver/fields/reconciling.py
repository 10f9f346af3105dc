"""Update owned fields after the schema changed between atomic and granular.

A list or map that became atomic is owned as a whole by every manager that owned a part of it.  One
that is no longer atomic keeps its owner, who owns the list or map itself but none of its parts.
"""

from myrmidon.apiserver.fields.elements import name_of
from myrmidon.apiserver.fields.fieldset import Node
from myrmidon.apiserver.fields.shapes import DEDUCED, Shape


def reconciled(node: Node, shape: Shape) -> Node:
    """Return the node of a field under the current schema; the same node if nothing changes."""
    result = node
    is_list = shape.atoms[0] == "l"
    for element, inner in node.items():
        if not inner:
            continue
        child = shape.item if is_list else shape.child(name_of(element))
        if child is None or child is DEDUCED:
            continue  # fields that are no longer in the schema keep their owners, too
        atomic = child.atomic_map if child.atoms[0] == "m" else not child.associative
        now = {} if atomic else reconciled(inner, child)
        if now is not inner:
            if result is node:
                result = dict(node)
            result[element] = now
    return result
