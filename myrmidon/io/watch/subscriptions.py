"""Subscription and Shared: a cache, the reflector that fills it and the subscribers that hear of changes.

A list of 50,000 objects is 50,000 changes that wait in a subscription.  A reader that finds one
waiting never has to wait, and would keep the event loop until the last; so a subscription gives way to
other tasks between changes.  What exists when a reader subscribes is not turned into changes at once,
either: the subscription keeps the entries of that moment and makes each change when it is read.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from myrmidon.errors import ApiError, TransportError
from myrmidon.io.lists.scope import Scope
from myrmidon.io.timers.pacing import pacer
from myrmidon.io.watch.cache import Cache
from myrmidon.io.watch.changes import Change, Source
from myrmidon.io.watch.reflector import Reflector


class Subscription:
    """The changes of one or more views for one reader, in the order in which they happened."""

    def __init__(self) -> None:
        self._existing: deque[_Existing] = deque()  # read first, since they were there first
        self._changes: deque[Change] = deque()
        self._arrived = asyncio.Event()

    def put(self, changes: Iterable[Change]) -> None:
        """Add changes; never waits, so a slow reader does not hold up the cache."""
        self._changes.extend(changes)
        self._arrived.set()

    def put_existing(self, cache: Cache) -> None:
        """Add every object of a cache as it is now, as one that was just added."""
        if len(cache):
            self._existing.append(_Existing(cache))
            self._arrived.set()

    def __len__(self) -> int:
        return len(self._changes) + sum(map(len, self._existing))

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> Change:
        if self._changes or self._existing:
            await pacer().give_way()
        while not self._changes and not self._existing:
            self._arrived.clear()
            await self._arrived.wait()
        if not self._existing:
            return self._changes.popleft()
        existing = self._existing[0]
        change = next(existing)
        if not len(existing):
            self._existing.popleft()
        return change


class _Existing:
    """The changes that tell a new subscriber what a cache holds, made one by one."""

    def __init__(self, cache: Cache) -> None:
        self._ref, self._left = cache.ref, len(cache)
        self._entries = ((space, *one) for space, names in cache.entries() for one in names)

    def __len__(self) -> int:
        return self._left

    def __next__(self) -> Change:
        namespace, name, entry = next(self._entries)
        self._left -= 1
        return Change(self._ref((namespace, name)), None, entry, Source.LIST)


@dataclass(frozen=True, slots=True)
class Health:
    """The condition of one cache, for readyz, metrics and people."""

    scope: Scope
    is_synced: bool
    staleness_seconds: float
    objects: int
    unreadable: int
    fault: ApiError | TransportError | None


class Subscriptions:
    """Who listens to one cache."""

    def __init__(self) -> None:
        self._listening: list[Subscription] = []

    def add(self, subscription: Subscription) -> None:
        """Tell this one, too."""
        self._listening.append(subscription)

    def remove(self, subscription: Subscription) -> None:
        """Tell it no more."""
        self._listening.remove(subscription)

    def publish(self, changes: Sequence[Change]) -> None:
        """Tell everyone."""
        for subscription in self._listening:
            subscription.put(changes)


@dataclass(eq=False, slots=True)
class Shared:
    """One scope in the process."""

    cache: Cache
    reflector: Reflector
    subscriptions: Subscriptions
    views: int = 0
    task: "asyncio.Task[None] | None" = None

    def subscribe(self, subscription: Subscription) -> None:
        """Tell a new subscriber what is there already, and from now on every change."""
        subscription.put_existing(self.cache)
        self.subscriptions.add(subscription)

    @property
    def health(self) -> Health:
        """The condition of the cache and its reflector."""
        reflector = self.reflector
        return Health(
            self.cache.scope,
            reflector.is_synced,
            reflector.staleness(),
            len(self.cache),
            self.cache.unreadable,
            reflector.fault,
        )
