"""``remember``: keep an entry of a memory that has at most ``ENTRIES_MAX`` entries."""

from collections.abc import Hashable
from typing import TypeVar

ENTRIES_MAX = 100_000

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def remember(memory: dict[K, V], key: K, value: V) -> None:
    """Keep an entry and drop the oldest beyond the limit; a dropped one costs one more decision."""
    memory[key] = value
    if len(memory) > ENTRIES_MAX:
        del memory[next(iter(memory))]
