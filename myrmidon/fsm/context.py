"""Context: the third parameter of a state, for reads, logging, Events and readiness.

These are protocols: ``runtime.reconcile.context`` implements them for a running controller, so that
states and this package depend on no network code.
"""

import builtins
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, overload

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.fsm.external.resource import External
from myrmidon.fsm.machine.results import Failed, Result, Wait

Observed = TypeVar("Observed")
T = TypeVar("T")
Relation = Literal[
    "self", "child", "relative", "read", "timer", "resync", "schedule", "again", "channel", "shard"
]


class Cause(NamedTuple):
    """What triggered a pass: how an object changed, and its relation to the object of the pass.

    With the relation ``read``, ``state`` is the state that read the object, or a list that covers it.
    """

    relation: Relation
    event: Literal["create", "update", "delete", "generic"] = "generic"
    ref: ObjectRef | None = None
    state: str = ""

    def __str__(self) -> str:
        if self.relation == "read":
            return f"{self.event} of {self.ref}, which it read in state {self.state}"
        return f"{self.relation} {self.event}" + (f" of {self.ref}" if self.ref else "")


class Log(Protocol):
    """Structured logging: a constant message, and the variable parts as keyword arguments."""

    def debug(self, message: str, **facts: Any) -> None: ...  # noqa: D102
    def info(self, message: str, **facts: Any) -> None: ...  # noqa: D102
    def warning(self, message: str, **facts: Any) -> None: ...  # noqa: D102
    def error(self, message: str, **facts: Any) -> None: ...  # noqa: D102


class Reader(Protocol):
    """Reads objects of the kinds that the controller manages, reads or watches."""

    @overload
    async def get(
        self, kind: Kind, name: str, namespace: str | None = None, cluster: str = ""
    ) -> Json | None: ...

    @overload
    async def get(
        self, kind: type[T], name: str, namespace: str | None = None, cluster: str = ""
    ) -> T | None: ...

    async def get(
        self, kind: Any, name: str, namespace: str | None = None, cluster: str = ""
    ) -> Any:
        """Return the object, or None if it does not exist.

        ``kind`` is a ``Kind`` (returns JSON), a Resource class or a kubernetes-asyncio model class
        (returns an instance of that class).  ``cluster`` is the name of a remote cluster; the
        controller must read or manage the kind there.
        """
        ...

    @overload
    async def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        labels: Mapping[str, str] | str | None = None,
        index: tuple[str, str] | None = None,
        cluster: str = "",
    ) -> builtins.list[Json]: ...

    @overload
    async def list(
        self,
        kind: type[T],
        namespace: str | None = None,
        labels: Mapping[str, str] | str | None = None,
        index: tuple[str, str] | None = None,
        cluster: str = "",
    ) -> builtins.list[T]: ...

    async def list(
        self,
        kind: Any,
        namespace: str | None = None,
        labels: Mapping[str, str] | str | None = None,
        index: tuple[str, str] | None = None,
        cluster: str = "",
    ) -> builtins.list[Any]:
        """Return all objects that match, as JSON or as instances of the class, as for ``get``.

        ``namespace=None`` means the namespace of the pass's object, ``""`` all namespaces.
        ``index`` is the name of one of ``Controller.indexes`` and the value to look up.
        """
        ...


class Context(Reader, Protocol):
    """Reads, logging and Events for a state.

    Reads are answered from the shared cache, which already holds what this controller wrote.  What a
    pass reads wakes it: when the object changes, appears or disappears, or an object that a list
    covers, the object of the pass gets another one.  ``Reads(kind, wakes=False)`` turns that off.
    """

    @property
    def live(self) -> Reader:
        """The same reads, answered by the API server instead of the cache; they wake nothing."""
        ...

    @property
    def api(self) -> Any:
        """A kubernetes_asyncio ``ApiClient`` for requests that the framework has no method for.

        ``await CoreV1Api(ctx.api).read_namespaced_pod_log(name, namespace)``.  Its requests use the
        controller's connection, credentials and rate limit, and need its lease to write.  They are
        not cached, what they read wakes no object, and the generated role does not know of them:
        declare ``Controller.permissions``.
        """
        ...

    @property
    def now(self) -> datetime:
        """The time at which this pass began."""
        ...

    @property
    def log(self) -> Log:
        """A logger whose lines carry the controller, the object, the pass and the state."""
        ...

    @property
    def planning(self) -> bool:
        """True while ``myrmidon plan`` asks what a pass would do: call no other system then."""
        ...

    @property
    def cause(self) -> tuple[Cause, ...]:
        """What triggered this pass; at most the first eight causes are kept."""
        ...

    async def children(self) -> Mapping[ObjectRef, Json | None]:
        """Return every child of the object, this pass's writes included; None for a missing one."""
        ...

    async def ensure(self, external: External[Any, Observed]) -> Observed | Wait | Failed:
        """Create or update the external resource; return what ``observe`` says about it then.

        Return the ``Wait`` or ``Failed`` from the state if it is one:
        ``if isinstance(found, Wait | Failed): return found``.
        """
        ...

    async def remove(self, external: External[Any, Any]) -> Result:
        """Delete the external resource; ``Done`` when it is gone, else a ``Wait`` or ``Failed``."""
        ...

    def event(self, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """Record a Kubernetes Event about the object; it never delays or fails the pass."""
        ...

    def is_ready(self, obj: object) -> bool:
        """Whether an object that was read is ready by the rule of its kind; False for None.

        A rule in ``Controller.readiness`` takes precedence.  Without one, an object of a custom
        kind is ready when its condition ``Ready`` (or ``Available``) is True for its current
        generation, and never before it has reported that condition.
        """
        ...
