"""Context: what a state may ask for beyond its object, as a protocol."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

from myrmidon.api.objects import Json
from myrmidon.api.refs import ObjectRef

Relation = Literal["self", "child", "relative", "timer", "resync", "again", "channel"]


class Cause(NamedTuple):
    """Why a pass runs: which object, what happened to it, and how it is related to ours."""

    relation: Relation
    event: Literal["create", "update", "delete", "generic"] = "generic"
    ref: ObjectRef | None = None

    def __str__(self) -> str:
        return f"{self.relation} {self.event}" + (f" of {self.ref}" if self.ref else "")


class Log(Protocol):
    """Structured logging: a constant message, and the facts as keywords."""

    def debug(self, message: str, **facts: Any) -> None: ...  # noqa: D102
    def info(self, message: str, **facts: Any) -> None: ...  # noqa: D102
    def warning(self, message: str, **facts: Any) -> None: ...  # noqa: D102
    def error(self, message: str, **facts: Any) -> None: ...  # noqa: D102


class Reader(Protocol):
    """Reads objects of the kinds that the controller declares."""

    async def get(self, kind: Any, name: str, namespace: str | None = None) -> Any:
        """The object, None where there is none.  A Resource class gives typed objects."""
        ...

    async def list(
        self,
        kind: Any,
        namespace: str | None = None,
        labels: Mapping[str, str] | str | None = None,
        index: tuple[str, str] | None = None,
    ) -> list[Any]:
        """All objects that match; ``namespace=None`` is the one of the parent, ``""`` all of them."""
        ...


class Context(Reader, Protocol):
    """What a state may ask for.  Reads come from the shared cache, own writes included."""

    @property
    def live(self) -> Reader:
        """The same questions, asked of the server."""
        ...

    @property
    def now(self) -> datetime:
        """When this pass began."""
        ...

    @property
    def log(self) -> Log:
        """Writes lines that carry controller, object, pass and state."""
        ...

    @property
    def cause(self) -> tuple[Cause, ...]:
        """What triggered this pass, as far as it was not too much to remember."""
        ...

    async def children(self) -> Mapping[ObjectRef, Json | None]:
        """Every object that this one manages, this pass's own writes included; None for one that is gone."""
        ...

    def event(self, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """Record a Kubernetes Event about the object; it never delays or fails the pass."""
        ...

    def is_ready(self, obj: Json | None) -> bool:
        """Whether the object is what its kind calls ready; False for None.

        ``Controller.readiness`` comes first.  A custom kind is ready when its condition ``Ready`` (or
        ``Available``) is True for its current generation, never before it has reported one.
        """
        ...
