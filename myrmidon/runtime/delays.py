"""Delays: when each of many keys is due next.  A binary heap that knows where each key is.

The heap of the standard library cannot change or remove an entry, so a queue on top of it marks old
entries as void and waits until they come up.  With a resync every ten hours that means an entry per
pass for ten hours.  Here a key has one entry at most: setting it again moves the entry, and removing
it leaves nothing behind.  Both cost a few steps per level of the heap, in Python; the queue therefore
sets a key only where it must (see ``WorkQueue``).

Keys that are due at the same time come up in the order in which they were set.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Delays(Generic[K]):
    """One time per key, and the earliest of all of them."""

    __slots__ = ("_heap", "_places", "_sequence")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, K]] = []
        self._places: dict[K, int] = {}  # where in the heap a key is
        self._sequence = 0

    def set(self, key: K, at: float) -> None:
        """Let the key be due at that time, whatever it was before."""
        self._sequence += 1
        entry = (at, self._sequence, key)
        place = self._places.get(key)
        if place is None:
            self._heap.append(entry)
            self._rise(len(self._heap) - 1, entry)
        else:
            self._settle(place, entry)

    def at(self, key: K) -> float | None:
        """Return when the key is due; None if it has no entry."""
        place = self._places.get(key)
        return None if place is None else self._heap[place][0]

    def remove(self, key: K) -> None:
        """Drop the entry of the key, if it has one."""
        place = self._places.pop(key, None)
        if place is None:
            return
        last = self._heap.pop()
        if place < len(self._heap):
            self._settle(place, last)

    def first(self) -> tuple[float, K] | None:
        """Return the earliest time and its key; None if there are no entries."""
        if not self._heap:
            return None
        at, _, key = self._heap[0]
        return at, key

    def __len__(self) -> int:
        return len(self._heap)

    def _settle(self, place: int, entry: tuple[float, int, K]) -> None:
        """Put an entry into a free place, or where it belongs from there."""
        if place and entry < self._heap[(place - 1) >> 1]:
            self._rise(place, entry)
        else:
            self._sink(place, entry)

    def _rise(self, place: int, entry: tuple[float, int, K]) -> None:
        heap, places = self._heap, self._places
        while place:
            above = (place - 1) >> 1
            parent = heap[above]
            if parent < entry:
                break
            heap[place] = parent
            places[parent[2]] = place
            place = above
        heap[place] = entry
        places[entry[2]] = place

    def _sink(self, place: int, entry: tuple[float, int, K]) -> None:
        heap, places = self._heap, self._places
        size = len(heap)
        while (below := 2 * place + 1) < size:
            child = heap[below]
            if below + 1 < size and heap[below + 1] < child:
                below += 1
                child = heap[below]
            if entry < child:
                break
            heap[place] = child
            places[child[2]] = place
            place = below
        heap[place] = entry
        places[entry[2]] = place
