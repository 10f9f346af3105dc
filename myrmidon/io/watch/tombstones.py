"""What we know to be gone although the watch has not said so yet.

A watch that is behind still tells of the life of an object that we have deleted.  Without a
memory of the deletion each such event would bring the object back for a moment, and a pass in
that moment would act on it.
"""

from typing import NamedTuple

from myrmidon.io.watch.indexes import Key


class Tombstone(NamedTuple):
    """One object that is gone: everything up to ``version``, and if ``final`` this uid for ever."""

    uid: str
    version: int
    final: bool
    lists: int  # how many lists had begun when it was set


class Tombstones:
    """By key; each is taken away by the watch event that it waits for, or by a later list."""

    def __init__(self) -> None:
        self._stones: dict[Key, Tombstone] = {}
        self._lists = 0

    def add(self, key: Key, uid: str, version: int, *, final: bool) -> None:
        """Remember that an object is gone.  The later of two of one name speaks for both."""
        stone = self._stones.get(key)
        if stone is None or stone.version <= version:
            self._stones[key] = Tombstone(uid, version, final, self._lists)

    def hides(self, key: Key, uid: str, version: int) -> bool:
        """Whether what is told about a key happened before its end."""
        stone = self._stones.get(key)
        if stone is None:
            return False
        return version <= stone.version or (stone.final and uid == stone.uid)

    def settle(self, key: Key, uid: str) -> None:
        """The watch has told of the end."""
        stone = self._stones.get(key)
        if stone is not None and stone.uid == uid:
            del self._stones[key]

    def clear(self, key: Key) -> None:
        """Something newer has taken the name."""
        self._stones.pop(key, None)

    def begin_list(self) -> None:
        """A list begins; being consistent, it knows what was gone before."""
        self._lists += 1

    def complete_list(self) -> None:
        """A list is complete: forget what was gone before it began."""
        older = [key for key, stone in self._stones.items() if stone.lists < self._lists]
        for key in older:
            del self._stones[key]

    def __len__(self) -> int:
        return len(self._stones)
