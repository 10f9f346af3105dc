"""Caches: one list and watch per scope in a process, shared by all its readers.

A reader declares which objects it needs and gets a ``View``.  Views of the same scope share one cache
and one reflector, which starts with the first view and ends with the last.  ``io.writes.own_writes`` finds
here the caches in which the answer to a write must be shown.

Replicas that share the work keep parts of the objects (``set_slices``, ``lists.slices``).  A view says by
its ``role`` whether a part is enough.  If any view of a cache needs all objects, the cache has all.
"""

import asyncio
import random
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from myrmidon.api.clock import Clock
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.io.client import Client
from myrmidon.io.lists.scope import Scope
from myrmidon.io.lists.slices import ShardRole, Slices, part_of
from myrmidon.io.tasks import lasting
from myrmidon.io.timers.clock import LoopClock
from myrmidon.io.watch.cache import Cache, Transform
from myrmidon.io.watch.indexes import IndexFunction
from myrmidon.io.watch.protocol import Timing
from myrmidon.io.watch.reflector import Reflector
from myrmidon.io.watch.subscriptions import Health, Shared, Subscriptions
from myrmidon.io.watch.views import RemoteView, View

SharedKey: TypeAlias = tuple[Scope, Transform | None]
Place: TypeAlias = tuple[str, str, str]
"""Group and plural, which are a kind in any of its versions; and a namespace, ``""`` for all."""


class Caches:
    """All caches of a process for one cluster."""

    def __init__(
        self,
        client: Client,
        *,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        timing: Timing | None = None,
        streaming: bool = True,
        page_size: int = 500,
        cluster: str = "",
    ) -> None:
        """``cluster``: the name of the remote cluster; empty for the home cluster."""
        self._client, self._cluster = client, cluster
        self._clock: Clock = clock or LoopClock()
        self._rng = rng or random.Random()  # noqa: S311  spreads load; keeps no secret
        self._timing, self._streaming, self._page_size = timing, streaming, page_size
        self._shared: dict[SharedKey, Shared] = {}
        self._at: dict[Place, list[Shared]] = {}
        self.unknown: set[ObjectRef] = set()
        """The objects whose last write got no clear answer, kept by ``io.writes.own_writes``.  They are here
        because every controller that reads these caches must know of them."""
        self.remotes: Mapping[str, Caches] = {}
        """The caches of remote clusters; views of kinds on those clusters come from there."""
        self._group: asyncio.TaskGroup | None = None
        self._slices: Slices | None = None

    def view(
        self,
        kind: Kind,
        *,
        namespaces: Iterable[str] | None = (),
        labels: str = "",
        fields: str = "",
        metadata_only: bool = False,
        indexes: Mapping[str, IndexFunction] | None = None,
        transform: Transform | None = None,
        role: ShardRole = "all",
    ) -> View:
        """Return a view of the objects of a kind, in all namespaces or in some of them.

        With ``namespaces=None`` a view of a namespaced kind begins with none; ``View.prepare``
        and ``enter`` add one.
        A new scope is listed as soon as ``run`` has started.
        ``role``: which objects the reader needs if this process keeps some slices only.
        """
        if kind.cluster and kind.cluster != self._cluster:
            return self.remotes[kind.cluster].view(
                kind,
                namespaces=namespaces,
                labels=labels,
                fields=fields,
                metadata_only=metadata_only,
                indexes=indexes,
                transform=transform,
            )  # without the role: children on a remote cluster are not divided

        def share(namespace: str) -> Shared:
            scope = Scope(kind, namespace, labels, fields, metadata_only)
            shared = self._share((scope, transform), role)
            for name, function in (indexes or {}).items():
                shared.cache.add_index(name, function)
            return shared

        spaces = sorted(set(namespaces or ())) if kind.namespaced else []
        if not spaces and (namespaces is not None or not kind.namespaced):
            spaces = [""]
        made = RemoteView if kind.cluster else View
        return made(kind, spaces, share, partial(self._release, role=role))

    def set_slices(self, slices: Slices | None) -> None:
        """Keep only the objects of these slices in views with a role; None: keep all objects again.

        The caches follow by themselves, see ``wait_slices``.  Objects that leave are reported to the
        subscribers as deleted, and those that come as added, as by a list.
        """
        self._slices = slices
        for shared in self._shared.values():
            self._divide(shared)

    async def wait_slices(self) -> None:
        """Wait until every cache holds all objects of the current slices, and no others."""
        for shared in list(self._shared.values()):
            await shared.reflector.wait_part()

    async def run(self) -> None:
        """List and watch every scope that has a view, now or later, until cancelled."""
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

    def has_reached(self, versions: Mapping[str, int]) -> bool:
        """Whether the watches have come to the versions; ``versions`` is by ``plural.group``.

        A collection with several caches, one per namespace, has come as far as the first of them.
        """
        reached: dict[str, int] = {}
        for shared in self._shared.values():
            kind = shared.cache.kind
            name = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
            reached[name] = max(reached.get(name, 0), shared.cache.version)
        return all(reached.get(name, version) >= version for name, version in versions.items())

    def health(self) -> list[Health]:
        """Return the condition of every cache."""
        return [shared.health for shared in self._shared.values()]

    def holding(self, ref: ObjectRef) -> Sequence[Shared]:
        """Return the caches that can hold an object, in whichever version of its kind."""
        kind, _, namespace = ref
        if kind.cluster and kind.cluster != self._cluster:
            remote = self.remotes.get(kind.cluster)
            return [] if remote is None else remote.holding(ref)
        of_all = self._at.get((kind.group, kind.plural, ""), ())
        of_one = self._at.get((kind.group, kind.plural, namespace)) if namespace else None
        return [*of_all, *of_one] if of_one else of_all

    # -------------------------------------------------------------------------- sharing

    def _divide(self, shared: Shared) -> None:
        """Tell a cache which part of its objects its views need."""
        roles, kind = set(shared.roles), shared.cache.kind
        by_namespace = self._slices is not None and self._slices.field == "namespace"
        if roles == {"own", "child"} and by_namespace and kind.namespaced:
            roles = {"own"}  # the same part
        role = roles.pop() if len(roles) == 1 else "all"
        shared.reflector.set_part(part_of(self._slices, role, namespaced=kind.namespaced))

    def _share(self, key: SharedKey, role: ShardRole) -> Shared:
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
            self._at.setdefault(_place(scope), []).append(shared)
            shared.roles.append(role)
            self._divide(shared)
            self._start(shared)
            return shared
        shared.roles.append(role)
        self._divide(shared)
        return shared

    def _start(self, shared: Shared) -> None:
        if self._group is not None:
            name = f"reflector {shared.cache.scope}"
            shared.task = self._group.create_task(lasting(name, shared.reflector.run), name=name)

    def _release(self, shared: Shared, role: ShardRole) -> None:
        shared.roles.remove(role)
        if shared.roles:
            self._divide(shared)
        else:
            key = next(key for key, value in self._shared.items() if value is shared)
            del self._shared[key]
            here = self._at[_place(shared.cache.scope)]
            here.remove(shared)
            if not here:
                del self._at[_place(shared.cache.scope)]
            if shared.task is not None:
                shared.task.cancel()


def _place(scope: Scope) -> Place:
    return scope.kind.group, scope.kind.plural, scope.namespace
