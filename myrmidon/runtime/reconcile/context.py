"""PassContext: the ``ctx`` argument of a state: reads from the caches, live reads, Events, log.

A state may read only the kinds that its controller declares, because only those are cached, watched
and part of the generated role; any other read raises ``UndeclaredReadError``.  The kinds that were
read are recorded (``Declared.read``): if the pass later changes one of them, the object gets
another pass, because the earlier state may have decided on old data.  The objects and lists that were
read from the caches are recorded as well (``runtime.wakeups.read_dependencies``): when one of them changes, the object
gets a pass.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any, Literal, Protocol, TypeVar

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.selectors import selector
from myrmidon.api.typed.object_types import kind_of, raw_of, reader_of
from myrmidon.errors import (
    NotAKindError,
    NotFoundError,
    ProgrammingError,
    UndeclaredReadError,
    UsageError,
)
from myrmidon.fsm.children.readiness import is_ready
from myrmidon.fsm.context import Cause, Reader
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.external.resource import External
from myrmidon.fsm.machine.results import Failed, Result, Wait
from myrmidon.io.client import Client
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.wakeups.read_dependencies import Listed, Readers, Reading, Record

Observed = TypeVar("Observed")
Index = tuple[str, str]
Labels = Mapping[str, str] | str | None


class Objects(Protocol):
    """The read side of the shared caches."""

    def get(self, ref: ObjectRef) -> Json | None: ...  # noqa: D102
    def covers(self, ref: ObjectRef) -> bool: ...  # noqa: D102
    def may_lack(self, kind: Kind, namespace: str) -> bool: ...  # noqa: D102
    def list(  # noqa: D102
        self, kind: Kind, namespace: str = "", *, labels: Labels = None, index: Index | None = None
    ) -> list[Json]: ...


@cache
def _together(*kinds: Kind) -> frozenset[Kind]:
    """Return the kinds as a set; cached, because every pass of a controller uses the same ones."""
    return frozenset(kinds)


class Declared:
    """The kinds that a controller declares; checks each read of a state against them."""

    def __init__(
        self,
        controller: type[Controller[Any]],
        key: ObjectRef,
        readers: Readers,
        read: dict[Kind, None],
    ) -> None:
        self._controller, self.namespace = controller, key.namespace
        self._key, self._readers = key, readers
        self._reading: Reading | None = None  # made by the first read
        self._over = False
        self.readiness = controller.readiness_rules
        self._kinds = _together(
            controller.kind(), *controller.managed_kinds, *controller.read_kinds
        )
        self.state = ""
        self.read = read
        """The kinds that this pass has read so far.  If it changes one of them later, a state that
        ran before may have decided on old data."""

    def kind(self, wanted: Any, cluster: str = "") -> Kind:
        """Return the kind of ``wanted`` and record the read; raise if it is not declared."""
        kind = kind_of(wanted)
        if cluster and kind is not None:
            kind = kind.at(cluster)
        if kind is None:
            raise NotAKindError(self._controller.__name__, self.state, wanted)
        if kind not in self._kinds:
            name = f"{kind.kind} ({kind.api_version})"
            if kind.cluster:
                name += f" on the cluster {kind.cluster!r}"
            raise UndeclaredReadError(self._controller.__name__, self.state, name)
        self.read[kind] = None
        return kind

    def depends(self, record: Record) -> None:
        """Record that the pass depends on an object or a list that it reads from a cache.

        A task that a state left behind may read after the end of the pass; that does not count.
        """
        if self._over or not self._controller.shapes[record.kind].wakes:
            return
        if self._reading is None:
            self._reading = self._readers.begin(self._key)
        self._reading.note(record, self.state)

    def end(self, *, complete: bool) -> None:
        """End the pass: what it has read replaces what the pass before had read."""
        self._over = True
        if self._reading is not None:
            self._reading.end(complete=complete)
        elif complete:
            self._readers.forget(self._key)

    def is_cached(self, kind: Kind) -> bool:
        """Whether a kind is read from a cache; otherwise from the server, see ``Reads.cached``."""
        return self._controller.shapes[kind].cached

    def check_list(self, kind: Kind) -> None:
        """Raise unless objects of the kind can be listed: the role of an uncached kind has only get."""
        if not self.is_cached(kind):
            name = self._controller.__name__
            raise ProgrammingError(
                f"{name}.{self.state} lists {kind}, which {name}.reads declares with cached=False: "
                "it may only be read by name.\n"
                f"  fix: use ctx.get, or drop cached=False in {name}.reads"
            )

    def check_index(self, kind: Kind, name: str) -> None:
        """Raise unless the controller declares an index of that name for the kind."""
        known = self._controller.index_functions.get(kind, {})
        if name not in known:
            of = f"{self._controller.__name__}.indexes"
            raise ProgrammingError(
                f"{self._controller.__name__}.{self.state} asked for the index {name!r} of {kind}; "
                f"{of} declares {', '.join(known) or 'none'}.\n"
                f"  fix: add {name!r} to {of}, a function from an object to its index values"
            )

    def ref(self, wanted: Any, name: str, namespace: str | None, cluster: str = "") -> ObjectRef:
        """Return the reference of an object, by default in the namespace of the parent."""
        kind = self.kind(wanted, cluster)
        where = self.namespace if namespace is None else namespace
        return ObjectRef(kind, name, where if kind.namespaced else "")


class LiveReader:
    """``ctx.live``: reads from the server instead of the caches."""

    def __init__(self, client: Client, declared: Declared) -> None:
        self._client, self._declared = client, declared

    async def get(
        self, kind: Any, name: str, namespace: str | None = None, cluster: str = ""
    ) -> Any:
        """Return the object from the server, None if it does not exist."""
        try:
            obj = await self._client.get(self._declared.ref(kind, name, namespace, cluster))
        except NotFoundError:
            return None
        return reader_of(kind)(obj)

    async def list(
        self,
        kind: Any,
        namespace: str | None = None,
        labels: Labels = None,
        index: Index | None = None,
        cluster: str = "",
    ) -> list[Any]:
        """Return all objects that match.  ``index`` is an error: the server has no indexes."""
        if index is not None:
            raise ProgrammingError("ctx.live.list has no indexes.\n  fix: use ctx.list, or labels")
        where = self._declared.namespace if namespace is None else namespace
        declared = self._declared.kind(kind, cluster)
        self._declared.check_list(declared)
        found = await self._client.list(declared, where, labels=str(selector(labels)))
        return [reader_of(kind)(obj) for obj in found]


class PassContext:
    """The context of one pass, see ``fsm.context.Context``."""

    def __init__(
        self,
        declared: Declared,
        objects: Objects,
        client: Client,
        *,
        now: datetime,
        log: Logger,
        cause: tuple[Cause, ...],
        record: Callable[[str, str, str], None],
        managed: Callable[[], Awaitable[Iterable[ObjectRef]]],
        external: Callable[[External[Any, Any], bool], Awaitable[Any]],
        planning: bool,
    ) -> None:
        self._declared, self._objects, self._client = declared, objects, client
        self._record, self._managed, self._external = record, managed, external
        self.now, self.log, self.cause, self.planning = now, log, cause, planning

    @property
    def live(self) -> Reader:
        """The same reads, answered by the server instead of the caches."""
        return LiveReader(self._client, self._declared)

    @property
    def api(self) -> Any:
        """A kubernetes_asyncio ``ApiClient`` over the connection of the controller."""
        # Imported here, because the library is optional, and slow to import.
        try:
            from myrmidon.io.kubernetes_asyncio import api_client  # noqa: PLC0415
        except ModuleNotFoundError:
            raise UsageError(
                "ctx.api needs the package kubernetes-asyncio, which is not installed.\n"
                "  fix: pip install kubernetes-asyncio"
            ) from None
        return api_client(self._client)

    async def get(
        self, kind: Any, name: str, namespace: str | None = None, cluster: str = ""
    ) -> Any:
        """Return the cached object, None if there is none; from the server if it is not cached here."""
        ref = self._declared.ref(kind, name, namespace, cluster)
        if not self._declared.is_cached(ref.kind):
            return await self.live.get(kind, name, namespace, cluster)
        self._declared.depends(ref)
        obj = self._objects.get(ref)
        if obj is None:
            # One of several replicas caches the slices that it works on; other objects are read live.
            lacks = self._objects.may_lack(ref.kind, ref.namespace)
            return await self.live.get(kind, name, namespace, cluster) if lacks else None
        return reader_of(kind)(obj)

    async def list(
        self,
        kind: Any,
        namespace: str | None = None,
        labels: Labels = None,
        index: Index | None = None,
        cluster: str = "",
    ) -> list[Any]:
        """Return all cached objects that match."""
        where = self._declared.namespace if namespace is None else namespace
        declared = self._declared.kind(kind, cluster)
        self._declared.check_list(declared)
        if index is not None:
            self._declared.check_index(declared, index[0])
        where = where if declared.namespaced else ""
        self._declared.depends(Listed(declared, where, str(selector(labels)), index))
        if self._objects.may_lack(declared, where):
            if index is None:
                return list(await self.live.list(kind, namespace, labels, None, cluster))
            raise ProgrammingError(
                f"{self._declared.state} lists {declared} by the index {index[0]!r}, but this replica "
                "keeps only the objects of its own parents.\n"
                f"  fix: declare {declared} in reads, then every replica keeps all of them"
            )
        found = self._objects.list(declared, where, labels=labels, index=index)
        return [reader_of(kind)(obj) for obj in found]

    async def children(self) -> Mapping[ObjectRef, Json | None]:
        """Return every child of the object, with the cached object or None if it is not cached.

        Children outside the kinds and namespaces that the controller declares are left out.
        """
        refs = [ref for ref in await self._managed() if self._objects.covers(ref)]
        self._declared.read.update(dict.fromkeys(ref.kind for ref in refs))
        return {ref: self._objects.get(ref) for ref in refs}

    async def ensure(self, external: External[Any, Observed]) -> Observed | Wait | Failed:
        """Create or update the external resource; return it as it is then, or what stopped us."""
        ensured: Observed | Wait | Failed = await self._external(external, True)
        return ensured

    async def remove(self, external: External[Any, Any]) -> Result:
        """Delete the external resource; ``Done`` when it is gone, else a ``Wait`` or ``Failed``."""
        removed: Result = await self._external(external, False)
        return removed

    def event(self, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """Record a Kubernetes Event about the object."""
        self._record(kind, reason, message)

    def is_ready(self, obj: Any) -> bool:
        """Whether the object is ready, by the controller's ``readiness`` or its kind's rule."""
        return is_ready(raw_of(obj), self._declared.readiness)
