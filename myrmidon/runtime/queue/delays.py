"""Delays: a priority queue of keys by due time, in which a key can be moved and removed.

``heapq`` cannot change or remove an entry, so a queue on top of it marks old entries as void and
keeps them until they are due.  With a resync every ten hours that would keep an entry per pass for
ten hours.  This binary heap knows the position of each key: a key has at most one entry, setting it
again moves the entry, and removing it frees it.  Both take O(log n) steps in Python, so the queue
sets a key only if it must (see ``WorkQueue``).

Keys that are due at the same time are returned in the order in which they were set.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Delays(Generic[K]):
    """A due time per key, and the earliest of all."""

    __slots__ = ("_heap", "_places", "_sequence")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, K]] = []
        self._places: dict[K, int] = {}  # where in the heap a key is
        self._sequence = 0

    def set(self, key: K, at: float) -> None:
        """Set the due time of the key, or move it."""
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
        """Put an entry into a free place, then move it up or down to where it belongs."""
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
