"""Sizes and costs in the estimator, capped at the largest 64-bit unsigned integer."""

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
    """Return the value, at most 2**64 - 1."""
    return min(value, MOST)


def scaled(value: int, factor: float) -> int:
    """Return the value times a factor, rounded up."""
    return capped(math.ceil(float(value) * factor))


class Size(NamedTuple):
    """The smallest and largest possible number of characters, items or entries."""

    low: int
    high: int

    def plus(self, other: "Size") -> "Size":
        """Return the size of both together."""
        return Size(capped(self.low + other.low), capped(self.high + other.high))

    def times(self, other: "Size") -> "Size":
        """Return the product of the sizes."""
        return Size(capped(self.low * other.low), capped(self.high * other.high))

    def union(self, other: "Size") -> "Size":
        """Return the range that covers both sizes."""
        return Size(min(self.low, other.low), max(self.high, other.high))


UNKNOWN = Size(0, MOST)
ONE = Size(1, 1)


class EntrySize(NamedTuple):
    """The sizes of the keys (or indices) and of the values of a collection."""

    kind: str
    key: Size
    value: Size

    def union(self, other: "EntrySize | None") -> "EntrySize | None":
        """Return the ranges that cover both, None if the other one is not known."""
        if other is None:
            return None
        return EntrySize(self.kind, self.key.union(other.key), self.value.union(other.value))


class SizeNode(NamedTuple):
    """An argument of a call, as the estimates of functions see it."""

    type: Type
    path: Path
    size: Size | None
    expr: Expr | None = None


class Estimate(NamedTuple):
    """The highest cost of a call without its arguments, and the size of its result."""

    cost: int
    size: Size | None = None


SizeAt = Callable[[Path], Size | None]
