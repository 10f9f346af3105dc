"""Troupe: all actors of a server, of which only those that a change concerns are called.

Most changes concern one or two of ten actors: a ConfigMap without an owner nothing but the garbage collector.
A server settles after every request, so the calls of the others would cost as much as the request itself.

What an actor says about itself, as attributes of the class that defines the method:

    observe    watched = ("pods",)   it looks at changes of these resources, and of its own ``resource``, and of
                                     objects whose controller is of its ``kind``.  Without ``watched`` it sees all.
    due        timed = False         it acts only after changes that it has observed.  Without ``timed`` its
                                     ``act`` is called whenever the server settles.

The attribute counts only if it stands beside the method: a subclass that overrides ``observe`` to look at
other objects is passed all changes, unless it says which ones it needs.
"""

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any

from myrmidon.apiserver.actors.actor import ServerAccess
from myrmidon.apiserver.store import StoredChange


class Troupe:
    """The actors of one server, in the order in which they act."""

    def __init__(self, actors: Iterable[Any]) -> None:
        self.actors: list[Any] = list(actors)
        self._types = tuple(map(type, self.actors))
        self._timed = _timed(self._types)
        self._stirred = set(range(len(self.actors)))  # the indices of actors that have to act
        self._concerned: dict[tuple[str, str], tuple[int, ...]] = {}

    def observe(self, change: StoredChange) -> None:
        """Pass a change to the actors that it concerns."""
        concerned = self._concerned_by(change)
        for index in concerned:
            self.actors[index].observe(change)
        self._stirred.update(concerned)

    def recall(self, changes: Iterable[StoredChange], *, without: Any) -> None:
        """Pass the changes of an earlier time to all actors that they concern but one."""
        for change in changes:
            for index in self._concerned_by(change):
                if self.actors[index] is not without:
                    self.actors[index].observe(change)

    def _concerned_by(self, change: StoredChange) -> tuple[int, ...]:
        owner = change.controller
        key = (change.resource, str(owner.get("kind")) if owner is not None else "")
        concerned = self._concerned.get(key)
        if concerned is None:
            concerned = self._concerned[key] = _concerned(self._types, *key)
        return concerned

    def act(self, server: ServerAccess) -> tuple[bool, Exception | None]:
        """Let every actor act that has observed a change or that time concerns.

        Return whether one wrote, and the first exception of one.  An actor that raised acts again when
        the server settles the next time; the others are not kept from their work.
        """
        stirred, self._stirred = self._stirred, set(self._timed)
        wrote, failure = False, None
        for index in sorted(stirred):
            try:
                wrote = self.actors[index].act(server) or wrote
            except Exception as error:  # noqa: BLE001 - returned
                self._stirred.add(index)
                failure = failure or error
        return wrote, failure

    def reconsider(self, resource: str) -> None:
        """Let the first actor, the life cycle of definitions, look at a definition again."""
        self.actors[0].reconsider(resource)
        self._stirred.add(0)

    def due(self) -> datetime | None:
        """Return the earliest time at which an actor acts without a change, or None."""
        earliest: datetime | None = None
        for index in self._timed:
            time = self.actors[index].due()
            if time is not None and (earliest is None or time < earliest):
                earliest = time
        return earliest


@lru_cache(maxsize=1024)
def _concerned(types: tuple[type[Any], ...], resource: str, owner: str) -> tuple[int, ...]:
    """Return which of the actors a change concerns; ``owner`` is the kind of the object's controller."""
    return tuple(index for index, one in enumerate(types) if _concerns(one, resource, owner))


@lru_cache(maxsize=64)
def _timed(types: tuple[type[Any], ...]) -> tuple[int, ...]:
    return tuple(i for i, one in enumerate(types) if _beside(one, "due", "timed") is not False)


def _concerns(actor: type[Any], resource: str, owner: str) -> bool:
    watched = _beside(actor, "observe", "watched")
    if watched is None:
        return True
    if resource == getattr(actor, "resource", None) or resource in watched:
        return True
    return bool(owner) and owner == getattr(actor, "kind", None)


def _beside(actor: type[Any], method: str, attribute: str) -> Any:
    """Return an attribute of the class that defines the method; None if that class does not have it."""
    for each in actor.__mro__:
        if method in vars(each):
            return vars(each).get(attribute)
    return None
