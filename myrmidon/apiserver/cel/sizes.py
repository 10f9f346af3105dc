"""Sizes and costs as the estimator counts them: up to what fits 64 bits."""

import math
from collections.abc import Callable
from typing import NamedTuple

from myrmidon.apiserver.cel.ast import Expr
from myrmidon.apiserver.cel.types import Type

MOST = 2**64 - 1
TRAVERSAL, PATTERN = 0.1, 0.25
NEW_LIST, NEW_MAP = 10, 30

Path = tuple[str, ...]


def capped(value: int) -> int:
    """Arithmetic ends at 64 bits, where everything is too much anyway."""
    return min(value, MOST)


def scaled(value: int, factor: float) -> int:
    """A part of a value, rounded up."""
    return capped(math.ceil(float(value) * factor))


class Size(NamedTuple):
    """From so many to so many characters, items or entries."""

    low: int
    high: int

    def plus(self, other: "Size") -> "Size":
        """Of both together."""
        return Size(capped(self.low + other.low), capped(self.high + other.high))

    def times(self, other: "Size") -> "Size":
        """Of one for each of the other."""
        return Size(capped(self.low * other.low), capped(self.high * other.high))

    def union(self, other: "Size") -> "Size":
        """Of either."""
        return Size(min(self.low, other.low), max(self.high, other.high))


UNKNOWN = Size(0, MOST)
ONE = Size(1, 1)


class EntrySize(NamedTuple):
    """Sizes of the keys or indices and of the values of a collection."""

    kind: str
    key: Size
    value: Size

    def union(self, other: "EntrySize | None") -> "EntrySize | None":
        """Of either, if both are known."""
        if other is None:
            return None
        return EntrySize(self.kind, self.key.union(other.key), self.value.union(other.value))


class SizeNode(NamedTuple):
    """An argument of a call, as the functions' own estimates see it."""

    type: Type
    path: Path
    size: Size | None
    expr: Expr | None = None


class Estimate(NamedTuple):
    """The most a call costs beyond its arguments, and the size of what it gives."""

    cost: int
    size: Size | None = None


SizeAt = Callable[[Path], Size | None]
