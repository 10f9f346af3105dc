"""PassContext: what a state may ask for, answered from the shared caches."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any, Literal, Protocol

from myrmidon.api.objects import Json
from myrmidon.api.refs import Kind, ObjectRef
from myrmidon.api.resource import Resource
from myrmidon.api.selectors import selector
from myrmidon.errors import NotFoundError, ProgrammingError, UndeclaredReadError
from myrmidon.fsm.context import Cause, Reader
from myrmidon.fsm.controller import Controller, kind_of
from myrmidon.fsm.readiness import is_ready
from myrmidon.io.client import Client
from myrmidon.runtime.logs import Logger

Index = tuple[str, str]
Labels = Mapping[str, str] | str | None


class Objects(Protocol):
    """The shared caches, as far as reading goes."""

    def get(self, ref: ObjectRef) -> Json | None: ...  # noqa: D102
    def covers(self, ref: ObjectRef) -> bool: ...  # noqa: D102
    def list(  # noqa: D102
        self, kind: Kind, namespace: str = "", *, labels: Labels = None, index: Index | None = None
    ) -> list[Json]: ...


@cache
def _together(*kinds: Kind) -> frozenset[Kind]:
    """A set of kinds; every pass of a controller asks for the same one."""
    return frozenset(kinds)


class Declared:
    """Which kinds a controller may read, and the error for the others."""

    def __init__(self, controller: type[Controller[Any]], namespace: str) -> None:
        self._controller, self.namespace = controller, namespace
        self.readiness = controller.readiness_rules
        self._kinds = _together(
            controller.kind(), *controller.managed_kinds, *controller.read_kinds
        )
        self.state = ""
        self.read: dict[Kind, None] = {}
        """What was read so far: a later write to it makes what was decided before it old."""

    def kind(self, wanted: Any) -> Kind:
        """The kind that was asked for, if the controller declares it."""
        kind = kind_of(wanted)
        if kind is None or kind not in self._kinds:
            name = f"{kind.kind} ({kind.api_version})" if kind else repr(wanted)
            raise UndeclaredReadError(self._controller.__name__, self.state, name)
        self.read[kind] = None
        return kind

    def check_index(self, kind: Kind, name: str) -> None:
        """Raise unless the controller declares an index of that name for the kind."""
        known = self._controller.index_functions.get(kind, {})
        if name not in known:
            of = f"{self._controller.__name__}.indexes"
            raise ProgrammingError(
                f"{self._controller.__name__}.{self.state} asked for the index {name!r} of {kind}; "
                f"{of} declares {', '.join(known) or 'none'}.\n"
                f"  fix: add {name!r} to {of}, a function from an object to the words it is found under"
            )

    def ref(self, wanted: Any, name: str, namespace: str | None) -> ObjectRef:
        """The reference of an object, in the parent's namespace unless another is named."""
        kind = self.kind(wanted)
        where = self.namespace if namespace is None else namespace
        return ObjectRef(kind, name, where if kind.namespaced else "")


class LiveReader:
    """Reads from the server."""

    def __init__(self, client: Client, declared: Declared) -> None:
        self._client, self._declared = client, declared

    async def get(self, kind: Any, name: str, namespace: str | None = None) -> Any:
        """The object, None where there is none."""
        try:
            obj = await self._client.get(self._declared.ref(kind, name, namespace))
        except NotFoundError:
            return None
        return _typed(kind, obj)

    async def list(
        self,
        kind: Any,
        namespace: str | None = None,
        labels: Labels = None,
        index: Index | None = None,
    ) -> list[Any]:
        """All objects that match; the server has no indexes."""
        if index is not None:
            raise ProgrammingError("ctx.live.list has no indexes.\n  fix: use ctx.list, or labels")
        where = self._declared.namespace if namespace is None else namespace
        found = await self._client.list(
            self._declared.kind(kind), where, labels=str(selector(labels))
        )
        return [_typed(kind, obj) for obj in found]


class PassContext:
    """The context of one pass."""

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
    ) -> None:
        self._declared, self._objects, self._client = declared, objects, client
        self._record, self._managed = record, managed
        self.now, self.log, self.cause = now, log, cause

    @property
    def live(self) -> Reader:
        """The same questions, asked of the server."""
        return LiveReader(self._client, self._declared)

    async def get(self, kind: Any, name: str, namespace: str | None = None) -> Any:
        """The object as the cache has it, None where there is none."""
        obj = self._objects.get(self._declared.ref(kind, name, namespace))
        return None if obj is None else _typed(kind, obj)

    async def list(
        self,
        kind: Any,
        namespace: str | None = None,
        labels: Labels = None,
        index: Index | None = None,
    ) -> list[Any]:
        """All objects of the cache that match."""
        where = self._declared.namespace if namespace is None else namespace
        declared = self._declared.kind(kind)
        if index is not None:
            self._declared.check_index(declared, index[0])
        found = self._objects.list(
            declared, where if declared.namespaced else "", labels=labels, index=index
        )
        return [_typed(kind, obj) for obj in found]

    async def children(self) -> Mapping[ObjectRef, Json | None]:
        """Every object that this one manages, as the cache has it.

        Children outside the kinds and namespaces that the controller declares are left out.
        """
        refs = [ref for ref in await self._managed() if self._objects.covers(ref)]
        self._declared.read.update(dict.fromkeys(ref.kind for ref in refs))
        return {ref: self._objects.get(ref) for ref in refs}

    def event(self, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """Record a Kubernetes Event about the object."""
        self._record(kind, reason, message)

    def is_ready(self, obj: Any) -> bool:
        """Whether the object is what its kind, or the controller's ``readiness``, calls ready."""
        return is_ready(getattr(obj, "raw", obj), self._declared.readiness)


def _typed(kind: Any, obj: Json) -> Any:
    """The object as its class, where a class was asked for."""
    return kind.from_json(obj) if isinstance(kind, type) and issubclass(kind, Resource) else obj
