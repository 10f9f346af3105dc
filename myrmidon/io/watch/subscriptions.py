"""Subscription and Shared: a cache, the reflector that fills it, and the subscribers to its changes.

A list of 50,000 objects leaves 50,000 changes in a subscription.  A reader would take them without
ever awaiting, and block the event loop until the last one; so a subscription gives way to other tasks
between changes.  The objects that exist when a reader subscribes are not turned into changes at once
either: the subscription keeps the entries of that moment and makes each change when it is read.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from myrmidon.errors import ApiError, TransportError
from myrmidon.io.lists.scope import Scope
from myrmidon.io.lists.slices import ShardRole
from myrmidon.io.timers.pacing import pacer
from myrmidon.io.watch.cache import Cache
from myrmidon.io.watch.changes import Change, Source
from myrmidon.io.watch.reflector import Reflector

_CHANGES_PER_LOOK = 8  # changes that are read between two looks at the clock; about a millisecond


class Subscription:
    """The changes of one or more views for one reader, in the order in which the caches took them in."""

    def __init__(self) -> None:
        self._existing: deque[_Existing] = deque()  # read first, since they were there first
        self._changes: deque[Change] = deque()
        self._arrived = asyncio.Event()
        self.taken = 0
        """How many changes were read so far: the position of the change that was read last."""

    def put(self, changes: Iterable[Change]) -> None:
        """Add changes.  This never waits, so a slow reader does not hold up the cache."""
        self._changes.extend(changes)
        self._arrived.set()

    def put_existing(self, cache: Cache) -> None:
        """Add every object that a cache holds now, as a change of type ``added``."""
        if len(cache):
            self._existing.append(_Existing(cache))
            self._arrived.set()

    @property
    def arrived(self) -> int:
        """How many changes were added so far: the position of the change that was added last."""
        return self.taken + len(self)

    def __len__(self) -> int:
        return len(self._changes) + sum(map(len, self._existing))

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> Change:
        if self._changes and not self._existing and self.taken % _CHANGES_PER_LOOK:
            self.taken += 1
            return self._changes.popleft()
        if self._changes or self._existing:
            await pacer().give_way(_CHANGES_PER_LOOK)
        while not self._changes and not self._existing:
            self._arrived.clear()
            await self._arrived.wait()
        self.taken += 1
        if not self._existing:
            return self._changes.popleft()
        existing = self._existing[0]
        change = next(existing)
        if not len(existing):
            self._existing.popleft()
        return change


class _Existing:
    """The objects that a cache held when a reader subscribed, as changes that are made one by one."""

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
    """The condition of one cache, for readyz, metrics and log lines."""

    scope: Scope
    is_synced: bool
    staleness_seconds: float
    objects: int
    unreadable: int
    fault: ApiError | TransportError | None


class Subscriptions:
    """The subscribers to the changes of one cache."""

    def __init__(self) -> None:
        self._listening: list[Subscription] = []

    def add(self, subscription: Subscription) -> None:
        """Pass every later change to the subscription."""
        self._listening.append(subscription)

    def remove(self, subscription: Subscription) -> None:
        """Pass no more changes to the subscription."""
        self._listening.remove(subscription)

    def publish(self, changes: Sequence[Change]) -> None:
        """Pass changes to every subscription."""
        for subscription in self._listening:
            subscription.put(changes)


@dataclass(eq=False, slots=True)
class Shared:
    """The cache of one scope, with its reflector, its subscribers and the roles of its views."""

    cache: Cache
    reflector: Reflector
    subscriptions: Subscriptions
    roles: list[ShardRole] = field(default_factory=list)
    """Which objects each of its views needs (``lists.slices``)."""
    task: "asyncio.Task[None] | None" = None

    def subscribe(self, subscription: Subscription) -> None:
        """Pass the objects that exist to a new subscriber, and from now on every change."""
        subscription.put_existing(self.cache)
        self.subscriptions.add(subscription)

    def publish(self, change: Change | None) -> None:
        """Pass a change that was recorded outside the watch to every subscriber; ignore None."""
        if change is not None:
            self.subscriptions.publish([change])

    @property
    def health(self) -> Health:
        """Return the condition of the cache and its reflector."""
        reflector = self.reflector
        return Health(
            self.cache.scope,
            reflector.is_synced,
            reflector.staleness(),
            len(self.cache),
            self.cache.unreadable,
            reflector.fault,
        )
