"""Tombstones: objects that are known to be deleted before the watch reports it.

When this process deletes an object, the watch may still deliver earlier events about it.  Each such
event would put the object back into the cache until the DELETED event comes, and a pass in between
would act on an object that is gone.  So the cache sets a tombstone with the uid and version of the
deletion, and ignores the events that it hides.  The tombstone is removed when the watch reports the
deletion, when a newer object takes the name, or when a list that began later is complete.
"""

from typing import NamedTuple

from myrmidon.io.watch.indexes import Key


class Tombstone(NamedTuple):
    """One deleted object.

    It hides everything up to ``version``, and if ``final`` everything with this ``uid``.
    """

    uid: str
    version: int
    final: bool
    lists: int  # how many lists had begun when it was set


class Tombstones:
    """The tombstones of one cache, by namespace and name."""

    def __init__(self) -> None:
        self.stones: dict[Key, Tombstone] = {}
        self._lists = 0

    def add(self, key: Key, uid: str, version: int, *, final: bool) -> None:
        """Remember a deletion.  For one name, only the one with the highest version is kept."""
        stone = self.stones.get(key)
        if stone is None or stone.version <= version:
            self.stones[key] = Tombstone(uid, version, final, self._lists)

    def rejects(self, key: Key, uid: str, version: int) -> bool:
        """Whether an object with this uid and version is from before the deletion.

        If not, the tombstone is removed: a newer object has the name now.
        """
        stone = self.stones.get(key)
        if stone is None:
            return False
        if version <= stone.version or (stone.final and uid == stone.uid):
            return True
        del self.stones[key]
        return False

    def settle(self, key: Key, uid: str) -> None:
        """Remove the tombstone of an object: the watch has reported its deletion."""
        stone = self.stones.get(key)
        if stone is not None and stone.uid == uid:
            del self.stones[key]

    def begin_list(self) -> None:
        """Note that a list begins.  As a consistent read, it reflects all earlier deletions."""
        self._lists += 1

    def complete_list(self) -> None:
        """Remove the tombstones that were set before the list began."""
        older = [key for key, stone in self.stones.items() if stone.lists < self._lists]
        for key in older:
            del self.stones[key]

    def __len__(self) -> int:
        return len(self.stones)
