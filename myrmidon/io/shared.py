"""A cache with what fills it and who listens to it."""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from myrmidon.errors import ApiError, TransportError
from myrmidon.io.cache import Cache
from myrmidon.io.changes import Change, Source
from myrmidon.io.reflector import Reflector
from myrmidon.io.scope import Scope


class Subscription:
    """The changes of one or more views for one reader, in the order in which they happened."""

    def __init__(self) -> None:
        self._changes: deque[Change] = deque()
        self._arrived = asyncio.Event()

    def put(self, changes: Iterable[Change]) -> None:
        """Add changes; never waits, so a slow reader holds up nobody."""
        self._changes.extend(changes)
        self._arrived.set()

    def __len__(self) -> int:
        return len(self._changes)

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> Change:
        while not self._changes:
            self._arrived.clear()
            await self._arrived.wait()
        return self._changes.popleft()


@dataclass(frozen=True, slots=True)
class Health:
    """How one cache does, for readyz and for people."""

    scope: Scope
    is_synced: bool
    staleness_seconds: float
    objects: int
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
        keys = sorted(self.cache.keys())
        subscription.put(
            Change(self.cache.ref(key), None, self.cache.entry(key), Source.LIST) for key in keys
        )
        self.subscriptions.add(subscription)

    @property
    def health(self) -> Health:
        """How it does."""
        reflector = self.reflector
        return Health(
            self.cache.scope,
            reflector.is_synced,
            reflector.staleness(),
            len(self.cache),
            reflector.fault,
        )
