"""Sets of fields, in the format of ``managedFields`` (FieldsV1).

A node is a dictionary from path elements to nodes.  An empty node is an owned leaf.  A node with a
``"."`` is owned itself, in addition to what is inside it.  Any other node only leads to owned fields.
This is FieldsV1 itself, so reading and writing a set needs no conversion.  Nodes are immutable and
shared between versions of an object; their elements are in the order of the real server.

The operations are those of the real server, which differ from ordinary sets in one way: a
difference removes exactly the fields that it names, and keeps the fields inside them.
"""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from myrmidon.apiserver.fields import elements
from myrmidon.apiserver.fields.elements import SELF, Element, Path

Node: TypeAlias = dict[Element, Any]


class FieldSet:
    """An immutable set of fields."""

    __slots__ = ("node",)

    def __init__(self, node: Node | None = None) -> None:
        self.node: Node = node or {}

    @classmethod
    def of(cls, *paths: Path) -> "FieldSet":
        """Return the set of exactly these paths, without their parents or children."""
        node: Node = {}
        for path in paths:
            if path:
                node = union(node, _single(path))
        return cls(node)

    @classmethod
    def from_json(cls, written: Any) -> "FieldSet":
        """Read FieldsV1 sent by a client; raise ``ElementError`` if it is invalid."""
        if not isinstance(written, dict):
            raise elements.ElementError("FieldsV1 must be a map")
        return cls(_read(written)[0])

    def to_json(self) -> Node:
        """Return the set as FieldsV1."""
        return self.node

    def __bool__(self) -> bool:
        return bool(self.node)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSet) and self.node == other.node

    def __hash__(self) -> int:
        return hash(tuple(self.paths()))

    def __repr__(self) -> str:
        return f"FieldSet({', '.join(map(elements.text, self.paths()))})"

    def __contains__(self, path: Path) -> bool:
        node: Node | None = self.node
        for element in path:
            node = None if node is None else node.get(element)
        return bool(path) and node is not None and is_member(node)

    def __or__(self, other: "FieldSet") -> "FieldSet":
        return FieldSet(union(self.node, other.node))

    def __and__(self, other: "FieldSet") -> "FieldSet":
        return FieldSet(intersection(self.node, other.node))

    def __sub__(self, other: "FieldSet") -> "FieldSet":
        return FieldSet(difference(self.node, other.node))

    def without(self, other: "FieldSet") -> "FieldSet":
        """Return the set without the fields of the other set and everything inside those."""
        return FieldSet(deep_difference(self.node, other.node))

    def leaves(self) -> "FieldSet":
        """Return the fields that have no owned fields inside them."""
        return FieldSet(_leaves(self.node))

    def paths(self) -> Iterator[Path]:
        """Return the paths of all fields: at each level the owned ones first, then their contents."""
        return _paths(self.node, ())


def is_member(node: Node) -> bool:
    """Whether the field that leads to this node is in the set itself."""
    return not node or SELF in node


def as_member(node: Node | None) -> Node:
    """Return the node with its own field included in the set."""
    if not node or SELF in node:
        return node or {}
    return {SELF: {}, **node}


def union(left: Node, right: Node) -> Node:
    """Return the union of two nodes of the same field."""
    if not left or left is right:
        return right
    if not right:
        return left
    both = left.copy()
    for element, node in right.items():
        old = both.get(element)
        both[element] = node if old is None else _union_of_fields(old, node)
    return both if len(both) == len(left) else ordered(both)


def _union_of_fields(left: Node, right: Node) -> Node:
    """Return the union below the root, where an empty node is an owned field."""
    if not left:
        return as_member(right)
    if not right:
        return as_member(left)
    return union(left, right)


def intersection(left: Node, right: Node) -> Node:
    """Return the fields that are in both nodes."""
    if len(left) > len(right):
        left, right = right, left  # both have the same order
    common: Node = {}
    for element, node in left.items():
        other = right.get(element)
        if other is None:
            continue
        if element == SELF:
            common[SELF] = node
            continue
        met = _intersection_of_fields(node, other)
        if met is not None:
            common[element] = met
    return common


def _intersection_of_fields(left: Node, right: Node) -> Node | None:
    if not left:
        return {} if is_member(right) else None
    if not right:
        return {} if is_member(left) else None
    return _tidy(intersection(left, right))


def difference(left: Node, right: Node) -> Node:
    """Return the left node without the fields of the right; fields inside those remain."""
    if not right:
        return left
    rest: Node | None = None
    for element, node in right.items():
        old = left.get(element)
        if old is None:
            continue
        kept = _difference_of_fields(old, node) if element != SELF else None
        if kept is old:
            continue
        if rest is None:
            rest = left.copy()
        if kept is None:
            del rest[element]
        else:
            rest[element] = kept
    return left if rest is None else rest


def _difference_of_fields(left: Node, right: Node) -> Node | None:
    if not left:
        return None if is_member(right) else left
    if not right:
        if SELF not in left:
            return left
        return _tidy({element: node for element, node in left.items() if element != SELF})
    rest = difference(left, right)
    return left if rest is left else _tidy(rest)


def deep_difference(left: Node, right: Node) -> Node:
    """Return the left node without the fields of the right and everything inside those."""
    rest = left
    for element, node in right.items():
        old = rest.get(element)
        if old is None or element == SELF:
            continue
        kept = None if is_member(node) else _tidy_deep(old, node)
        if kept is old:
            continue
        rest = {key: value for key, value in rest.items() if key != element or kept is not None}
        if kept is not None:
            rest[element] = kept
    return rest


def _tidy_deep(left: Node, right: Node) -> Node | None:
    """Return a leaf as it is, and any other node normalised without the fields of the right."""
    return left if not left else _tidy(deep_difference(left, right))


def _tidy(node: Node) -> Node | None:
    """Normalise a node: None if it contains nothing, a leaf if only itself is owned."""
    if not node:
        return None
    return {} if len(node) == 1 and SELF in node else node


def ordered(node: Node) -> Node:
    """Return the node with its elements in the order of the real server; itself if they are."""
    names = list(node)
    wanted = sorted(names)
    if names and wanted[-1][0] > "f":
        # Elements of lists are ordered by value, the others by their text.
        wanted.sort(key=elements.order)
    return node if wanted == names else {element: node[element] for element in wanted}


def _single(path: Path) -> Node:
    node: Node = {}
    for element in reversed(path):
        node = {element: node}
    return node


def _leaves(node: Node) -> Node:
    return {
        element: _leaves(inner) if inner else inner
        for element, inner in node.items()
        if element != SELF
    }


def _paths(node: Node, prefix: Path) -> Iterator[Path]:
    inside = [element for element in sorted(node, key=elements.order) if element != SELF]
    yield from ((*prefix, element) for element in inside if is_member(node[element]))
    for element in inside:
        yield from _paths(node[element], (*prefix, element))


def _read(written: dict[str, Any]) -> tuple[Node, bool]:
    """Return the contents of a node in FieldsV1, and whether the node itself is owned."""
    node: Node = {}
    owned = SELF in written
    for key, value in written.items():
        element = None if key == SELF else elements.canonical(key)
        if element is None:
            continue  # an element type of a later Kubernetes version
        if not isinstance(value, dict):
            raise elements.ElementError(f"{key}: a path element leads to a map")
        inner, is_owned = _read(value)
        read = as_member(inner) if is_owned or not inner else inner
        node = union(node, {element: read})
    return node, owned or not node


def gather(nodes: Iterable[Node]) -> Node:
    """Return the union of several sets."""
    whole: Node = {}
    for node in nodes:
        whole = union(whole, node)
    return whole
