"""One list and watch per scope in a process, shared by all who read it.

A reader declares what it needs and gets a ``View``; views of the same scope share one cache and
one reflector, which starts with the first and ends with the last of them.  Own writes are recorded
here, so that every cache that could show them does, and every subscriber hears of them.
"""

import asyncio
import random
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from myrmidon.api.clock import Clock
from myrmidon.api.objects import Json, version_of
from myrmidon.api.refs import Kind, ObjectRef
from myrmidon.io.client import Client
from myrmidon.io.lists.scope import Scope
from myrmidon.io.tasks import lasting
from myrmidon.io.timers.clock import LoopClock
from myrmidon.io.watch.cache import Cache, Transform
from myrmidon.io.watch.changes import Change
from myrmidon.io.watch.indexes import IndexFunction
from myrmidon.io.watch.protocol import Timing
from myrmidon.io.watch.reflector import Reflector
from myrmidon.io.watch.subscriptions import Health, Shared, Subscriptions
from myrmidon.io.watch.views import View

SharedKey: TypeAlias = tuple[Scope, Transform | None]
Resource: TypeAlias = tuple[str, str]  # group and plural: a kind, whatever the version


class Caches:
    """Every cache of a process."""

    def __init__(
        self,
        client: Client,
        *,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        timing: Timing | None = None,
        streaming: bool = True,
        page_size: int = 500,
    ) -> None:
        self._client = client
        self._clock: Clock = clock or LoopClock()
        self._rng = rng or random.Random()  # noqa: S311  spreads load; keeps no secret
        self._timing, self._streaming, self._page_size = timing, streaming, page_size
        self._shared: dict[SharedKey, Shared] = {}
        self._of_resource: dict[Resource, list[Shared]] = {}
        self._unknown: set[ObjectRef] = set()  # a write to them got no clear answer
        self._group: asyncio.TaskGroup | None = None

    def view(
        self,
        kind: Kind,
        *,
        namespaces: Iterable[str] = (),
        labels: str = "",
        fields: str = "",
        metadata_only: bool = False,
        indexes: Mapping[str, IndexFunction] | None = None,
        transform: Transform | None = None,
    ) -> View:
        """Declare a need: objects of a kind, everywhere or in some namespaces.

        Nothing is listed before ``run``; after it, a new scope is listed at once.
        """
        spaces = sorted(set(namespaces)) if kind.namespaced else []
        parts: dict[str, Shared] = {}
        for namespace in spaces or [""]:
            scope = Scope(kind, namespace, labels, fields, metadata_only)
            shared = self._share((scope, transform))
            for name, function in (indexes or {}).items():
                shared.cache.add_index(name, function)
            parts[namespace] = shared
        return View(kind, parts, self._release)

    async def run(self) -> None:
        """Fill every cache that is declared, now or later, until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                for shared in self._shared.values():
                    self._start(shared)
                await asyncio.Event().wait()
        finally:
            self._group = None

    async def wait_synced(self) -> None:
        """Wait until every cache declared so far has had its first list."""
        for shared in list(self._shared.values()):
            await shared.reflector.wait_synced()

    def health(self) -> list[Health]:
        """How every cache does."""
        return [shared.health for shared in self._shared.values()]

    # ----------------------------------------------------------------------- own writes

    def record_write(self, ref: ObjectRef, obj: Json, *, by: str = "") -> None:
        """Show the answer to a write, or to a live read, to all who read the object.

        A cache of another version of the kind cannot show it; it waits for its watch instead.
        """
        self._unknown.discard(ref)
        for shared in self._holding(ref):
            if shared.cache.kind == ref.kind:
                _publish(shared, shared.cache.record_write(obj, by=by))
            else:
                shared.cache.expect(_translated(ref, shared), version_of(obj))

    def record_delete(self, ref: ObjectRef, *, uid: str, version: str = "", by: str = "") -> None:
        """Show that an object is gone: a delete succeeded, or a live read of that uid missed it."""
        self.clear_unknown(ref)
        for shared in self._holding(ref):
            here = _translated(ref, shared)
            change = shared.cache.record_delete(here, uid=uid, version=version, by=by)
            _publish(shared, change)

    def mark_unknown(self, ref: ObjectRef) -> None:
        """A write got no clear answer: the next decision about the object needs a live read."""
        self._unknown.update(_translated(ref, shared) for shared in self._holding(ref))

    def clear_unknown(self, ref: ObjectRef) -> None:
        """A live read has settled it."""
        self._unknown.difference_update(_translated(ref, shared) for shared in self._holding(ref))

    def is_unknown(self, ref: ObjectRef) -> bool:
        """Whether a write to the object got no clear answer and nothing was recorded since."""
        return ref in self._unknown

    def expect(self, ref: ObjectRef, version: str) -> None:
        """A write to the object answered with something else than the object (scale, eviction)."""
        for shared in self._holding(ref):
            shared.cache.expect(_translated(ref, shared), version)

    def is_behind(self, ref: ObjectRef) -> bool:
        """Whether some cache shows the object older than our own last write to it."""
        return any(s.cache.is_behind(_translated(ref, s)) for s in self._holding(ref))

    # -------------------------------------------------------------------------- sharing

    def _holding(self, ref: ObjectRef) -> list[Shared]:
        """The caches that can hold an object, whatever version they read it in."""
        return [
            shared
            for shared in self._of_resource.get(_resource(ref.kind), ())
            if shared.cache.scope.namespace in ("", ref.namespace)
        ]

    def _share(self, key: SharedKey) -> Shared:
        shared = self._shared.get(key)
        if shared is None:
            scope, transform = key
            cache = Cache(scope, transform=transform)
            subscriptions = Subscriptions()
            reflector = Reflector(
                self._client,
                cache,
                clock=self._clock,
                jitter=self._rng.random,
                sink=subscriptions.publish,
                timing=self._timing,
                streaming=self._streaming,
                page_size=self._page_size,
            )
            shared = self._shared[key] = Shared(cache, reflector, subscriptions)
            self._of_resource.setdefault(_resource(scope.kind), []).append(shared)
            self._start(shared)
        shared.views += 1
        return shared

    def _start(self, shared: Shared) -> None:
        if self._group is not None:
            name = f"reflector {shared.cache.scope}"
            shared.task = self._group.create_task(lasting(name, shared.reflector.run), name=name)

    def _release(self, shared: Shared) -> None:
        shared.views -= 1
        if shared.views == 0:
            key = next(key for key, value in self._shared.items() if value is shared)
            del self._shared[key]
            self._of_resource[_resource(shared.cache.kind)].remove(shared)
            if shared.task is not None:
                shared.task.cancel()


def _resource(kind: Kind) -> Resource:
    return kind.group, kind.plural


def _translated(ref: ObjectRef, shared: Shared) -> ObjectRef:
    return ObjectRef(shared.cache.kind, ref.name, ref.namespace)


def _publish(shared: Shared, change: Change | None) -> None:
    if change is not None:
        shared.subscriptions.publish([change])
