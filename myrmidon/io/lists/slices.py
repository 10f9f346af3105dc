"""Slices: which part of the objects of a kind one of several replicas keeps.

The problem: replicas that share the work should share the memory as well.  A replica owns ranges of the
64-bit FNV-1a hash of one field, as the server's ``shardSelector`` has them (``Slices``), and keeps the
objects in these ranges:

    field      objects of a controller's own kind   objects of a kind that it manages
    namespace  by their namespace                   by their namespace
    uid        by their uid                         by the uid of their parent, or by their own if they
                                                    have none

So children are where their parent is.  ``Part`` applies this to one cache, in two ways at once:

1. The server is asked for the slices (``selector``), where it can select them: not by the uid of a
   parent.  A server that does not offer sharded lists and watches ignores the parameter.
2. Each object that arrives is checked.  A client cannot know whether the server has selected (lists of
   custom resources do not say it, and replicas of the server may differ), and needs not to.

The check of a watch line comes before it is decoded.  ``excludes`` collects all values of the field in
the bytes of the line, wherever they are in the object.  If none of them is in the slices, the value that
counts is not either.  Otherwise the line is decoded, and ``admits`` looks at the right place.  Decoding a
line costs little, compared with what an accepted object costs afterwards.

What it does not handle: children outside the namespace of their parent, if the field is the namespace.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from dataclasses import field as attribute
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

from myrmidon.api.objects.accessors import namespace_of, uid_of
from myrmidon.api.requests.shard_selectors import (
    HASH_END,
    ShardField,
    ShardRange,
    write_shard_selector,
)
from myrmidon.api.values.fnv import fnv1a_64
from myrmidon.sets.ownership.owner_references import PARENT_UID, parent_uid

ShardRole: TypeAlias = Literal["all", "own", "child"]
"""Which objects of a kind a reader needs: all of them, or those in the slices of this process, by their
own uid (``own``) or by the uid of their parent (``child``)."""

_OBJECT_EVENTS = (b'{"type":"ADDED"', b'{"type":"MODIFIED"', b'{"type":"DELETED"')
_VALUES = {
    "uid": re.compile(rb'"(?:uid|%s)":"([^"]*)"' % re.escape(PARENT_UID).encode()),
    "namespace": re.compile(rb'"namespace":"([^"]*)"'),
}
# The beginning of an event of a built-in kind, as Go writes it.  The uid behind it shows that a missing
# namespace does not come later.
_NAMED = re.compile(
    rb'\{"type":"[A-Z]+","object":\{"kind":"[^"]*","apiVersion":"[^"]*","metadata":\{'
    rb'"name":"([^"\\]*)",(?:"generateName":"[^"]*",)?(?:"namespace":"([^"\\]*)",)?"uid":"'
)

_hash = lru_cache(maxsize=4096)(fnv1a_64)  # events about one object or namespace follow each other


@dataclass(frozen=True, slots=True)
class Slices:
    """Ranges of the hash of a field: sorted, disjoint, each a first hash and the one after the last.

    Use ``slices_of`` to make one.
    """

    field: ShardField
    ranges: tuple[tuple[int, int], ...]
    _edges: tuple[int, ...] = attribute(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_edges", tuple(edge for each in self.ranges for edge in each))

    def covers(self, value: str) -> bool:
        """Whether an object with this value of the field is in one of the ranges."""
        return bool(bisect_right(self._edges, _hash(value)) & 1)

    def is_within(self, other: "Slices") -> bool:
        """Whether every range is inside one of the other's, of the same field."""
        return self.field == other.field and all(
            any(first <= start and end <= last for first, last in other.ranges)
            for start, end in self.ranges
        )


def slices_of(field: ShardField, ranges: Iterable[tuple[int, int]]) -> Slices:
    """Return the slices with these ranges, in any order; neighbours and overlaps become one range."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted((start, end) for start, end in ranges if start < end):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return Slices(field, tuple(merged))


class Part(NamedTuple):
    """The part of one cache: the objects that are in the slices, in their role for the reader."""

    slices: Slices
    role: ShardRole
    namespaced: bool = True

    @property
    def is_empty(self) -> bool:
        """Whether no object can be in the part, so that nothing has to be listed."""
        return not self.slices.ranges

    @property
    def is_fixed(self) -> bool:
        """Whether an object is in the part for ever or never; a child may get another parent."""
        return self.slices.field == "namespace" or self.role == "own"

    @property
    def selector(self) -> str:
        """The shardSelector for the server; ``""`` if the server cannot select the part."""
        if not self.is_fixed:
            return ""
        field = self.slices.field
        return write_shard_selector(ShardRange(field, *bounds) for bounds in self.slices.ranges)

    def admits(self, obj: Mapping[str, Any]) -> bool:
        """Whether an object is in the part."""
        if self.slices.field == "namespace":
            return self.slices.covers(namespace_of(obj) if self.namespaced else "")
        parent = parent_uid(obj) if self.role == "child" else ""
        return self.slices.covers(parent or uid_of(obj))

    def may_lack(self, namespace: str) -> bool:
        """Whether objects in a namespace may be outside the part; ``""``: in any namespace."""
        if self.slices.field == "uid" or (self.namespaced and not namespace):
            return True
        return not self.slices.covers(namespace if self.namespaced else "")

    def excludes(self, line: bytes) -> bool:
        """Whether the object in a line of a watch is certainly not in the part; decodes nothing."""
        if not line.startswith(_OBJECT_EVENTS):
            return False
        field = self.slices.field
        if field == "namespace" and not self.namespaced:
            return False
        values = _VALUES[field].findall(line)
        covers = self.slices.covers
        for value in values:
            if b"\\" in value or covers(value.decode(errors="replace")):
                return False
        return bool(values)

    def is_within(self, other: "Part | None") -> bool:
        """Whether every object of this part is in the other one, too; None is all objects."""
        if other is None:
            return True
        return (self.role, self.namespaced) == other[1:] and self.slices.is_within(other.slices)


def part_of(slices: Slices | None, role: ShardRole, *, namespaced: bool) -> Part | None:
    """Return the part that a cache keeps; None for all objects."""
    if slices is None or role == "all" or slices.ranges == ((0, HASH_END),):
        return None
    if role == "child" and slices.field == "namespace" and not namespaced:
        return None  # its parent may be in any namespace
    return Part(slices, role, namespaced)


def key_in(line: bytes) -> tuple[str, str] | None:
    """Return namespace and name of the object in a line of a watch; None if it is not plain."""
    found = _NAMED.match(line)
    if found is None:
        return None
    return (found[2] or b"").decode(errors="replace"), found[1].decode(errors="replace")
