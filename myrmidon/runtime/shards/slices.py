"""Slices: the equal parts of the hash space that replicas own.

The 64-bit hash space is cut into ``SLICES`` ranges of equal length.  A slice is the unit of ownership:
it has at most one owner, and an object is in the slice of the hash of its uid or of its namespace.
Neighbouring slices form one range, so the slices of a replica can be asked from the server as a few
``shardRange`` selectors (``ranges_of``).

256 slices keep the shares of up to 25 replicas within 10 % of each other: a share is a whole number of
slices, and the largest exceeds the smallest by one.
"""

from collections.abc import Collection, Iterable
from functools import lru_cache

from myrmidon.api.values.fnv import HASH_BITS, fnv1a_64

SLICES = 256
_SHIFT = HASH_BITS - (SLICES - 1).bit_length()

Range = tuple[int, int]
"""A range of hashes: the first one, and the one after the last."""


@lru_cache(maxsize=8192)
def slice_of(text: str) -> int:
    """Return the slice in which the hash of a text is."""
    return fnv1a_64(text) >> _SHIFT


def runs_of(slices: Iterable[int]) -> list[list[int]]:
    """Return the slices as runs of neighbours, in order."""
    runs: list[list[int]] = []
    for number in sorted(set(slices)):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def ranges_of(slices: Iterable[int]) -> list[Range]:
    """Return the ranges of hashes that the slices cover, in order; neighbours are one range."""
    return [(run[0] << _SHIFT, (run[-1] + 1) << _SHIFT) for run in runs_of(slices)]


def text_of(slices: Iterable[int]) -> str:
    """Return the slices as a text, such as ``0-84,170``."""
    return ",".join(
        f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs_of(slices)
    )


def slices_in(text: str) -> Collection[int]:
    """Return the slices that a text names; ValueError if it is not such a text."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers = range(int(first), int(last or first) + 1)
        if not numbers or numbers[0] < 0 or numbers[-1] >= SLICES:
            raise ValueError(f"{part!r} is not a range of slices")
        found.update(numbers)
    return found
