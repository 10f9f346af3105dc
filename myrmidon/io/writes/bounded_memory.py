"""RecentMemory: a dictionary that forgets entries which have not been used for a long time.

The applicator remembers its decisions about outputs, so that a pass over a converged object repeats none
of them.  Objects come and go, and an entry is not removed when its object is gone.  The memory must depend on
the objects that exist (law Q12), and must still hold all of them: a resync goes through all objects in
turn, and a memory that is a little too small would have forgotten each of them just before its turn.

So there are two generations.  New entries go into the young one.  When it has as many entries as
``room`` allows, it becomes the old one, and the entries of the old one that were not used since are
dropped.  An entry of the old generation that is used moves into the young one.  With room for all objects
that exist, each resync keeps all of their entries, and those of deleted objects are gone after two
generations.  Nothing is searched for, so an entry costs the same however many there are.

A forgotten entry costs one more decision, and nothing else.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

ROOM_MIN = 1_000
"""Entries of one generation for which there is always room."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class RecentMemory(Generic[K, V]):
    """Entries by key, in two generations of at most ``room()`` entries each, and of ``ROOM_MIN``."""

    __slots__ = ("_old", "_room", "_young", "_young_max", "get")

    get: Callable[[K], V | None]
    """Return the entry of a key, None if there is none; it counts as used."""

    def __init__(self, room: Callable[[], int]) -> None:
        self._room, self._young_max = room, ROOM_MIN
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}
        self.get = self._young.get  # as fast as a dictionary until there is an old generation

    def _get(self, key: K) -> V | None:
        found = self._young.get(key)
        if found is None:
            found = self._old.pop(key, None)
            if found is not None:
                self._young[key] = found
        return found

    def put(self, key: K, value: V) -> None:
        """Remember an entry."""
        self._young[key] = value
        if len(self._young) > self._young_max:
            self._young_max = max(ROOM_MIN, self._room())
            if len(self._young) > self._young_max:
                self._old, self._young, self.get = self._young, {}, self._get

    def pop(self, key: K) -> None:
        """Forget an entry, if there is one."""
        self._young.pop(key, None)
        self._old.pop(key, None)

    def __len__(self) -> int:
        return len(self._young) + len(self._old.keys() - self._young.keys())
