"""Sets of fields: who owns what, in the form in which managedFields keeps it.

A node is a dictionary from path elements to nodes.  An empty node is an owned leaf; a node with a
``"."`` is owned itself besides what is in it; any other node only leads to owned fields.  This is
FieldsV1, so a set that was read from an object or goes into one needs no conversion, and what two
versions of an object have in common they share.  Nodes are never changed once they are made, and
their elements are always in the order in which the real server writes them.

The algebra is that of the real server, which differs from textbook sets in one place: a difference
takes away exactly the fields it names and leaves what is inside them alone.
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
        """The set of these paths, and of nothing above or beneath them."""
        node: Node = {}
        for path in paths:
            if path:
                node = union(node, _single(path))
        return cls(node)

    @classmethod
    def from_json(cls, written: Any) -> "FieldSet":
        """Read FieldsV1 of a client; raises ``ElementError``."""
        if not isinstance(written, dict):
            raise elements.ElementError("FieldsV1 must be a map")
        return cls(_read(written)[0])

    def to_json(self) -> Node:
        """FieldsV1."""
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
        """The set without the fields of the other one and without all that is inside them."""
        return FieldSet(deep_difference(self.node, other.node))

    def leaves(self) -> "FieldSet":
        """The fields that have no owned fields inside."""
        return FieldSet(_leaves(self.node))

    def paths(self) -> Iterator[Path]:
        """All fields: at each level those that are owned, then what is inside them."""
        return _paths(self.node, ())


def is_member(node: Node) -> bool:
    """Whether the field that leads to this node is in the set itself."""
    return not node or SELF in node


def as_member(node: Node | None) -> Node:
    """The node, and its field, too."""
    if not node or SELF in node:
        return node or {}
    return {SELF: {}, **node}


def union(left: Node, right: Node) -> Node:
    """What is in either.  Both are the contents of the same field."""
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
    """Below the root an empty node is an owned field, which union would forget."""
    if not left:
        return as_member(right)
    if not right:
        return as_member(left)
    return union(left, right)


def intersection(left: Node, right: Node) -> Node:
    """What is in both."""
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
    """What is in the left but not in the right; fields inside those in the right remain."""
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
    """What is in the left and neither in the right nor inside a field of the right."""
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
    """Like ``_tidy``, for a leaf loses nothing by what its inside loses."""
    return left if not left else _tidy(deep_difference(left, right))


def _tidy(node: Node) -> Node | None:
    """Nodes as they must be: one that leads nowhere is none, one with nothing inside is a leaf."""
    if not node:
        return None
    return {} if len(node) == 1 and SELF in node else node


def ordered(node: Node) -> Node:
    """The node with its own elements in the order of the real server; the same one if they are."""
    names = list(node)
    wanted = sorted(names)
    if names and wanted[-1][0] > "f":
        # Steps into lists go by their values; the others by what is written.
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
    """The contents of a written node, and whether it is owned itself."""
    node: Node = {}
    owned = SELF in written
    for key, value in written.items():
        element = None if key == SELF else elements.canonical(key)
        if element is None:
            continue  # of a later version, which we do not know
        if not isinstance(value, dict):
            raise elements.ElementError(f"{key}: a path element leads to a map")
        inner, is_owned = _read(value)
        read = as_member(inner) if is_owned or not inner else inner
        node = union(node, {element: read})
    return node, owned or not node


def gather(nodes: Iterable[Node]) -> Node:
    """The union of many."""
    whole: Node = {}
    for node in nodes:
        whole = union(whole, node)
    return whole
