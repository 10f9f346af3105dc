"""Snapshot: immutable data about every object of a running process, for people and tools.

It is made on request, from the trace and the caches.  It shares no data with the process, so
callers may keep it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeAlias

from myrmidon.api.objects.refs import ObjectRef

Phase: TypeAlias = Literal["new", "ready", "waiting", "failing", "deleting", "suspended", "gone"]


@dataclass(frozen=True, slots=True)
class Step:
    """A state that the last pass ran, and its condition."""

    state: str
    condition: str
    status: str
    reason: str
    message: str
    branch: str = ""
    """The branch of a fork that the state is in; "" outside forks."""


def path_text(steps: Iterable[Step]) -> str:
    """Return the way through the graph: ``a → b``, branches of a fork as ``a → b → c ‖ d → e``."""
    text, before = "", ""
    for step in steps:
        other = before and step.branch and before != step.branch
        nested = step.branch.startswith(f"{before}/") or before.startswith(f"{step.branch}/")
        separator = " ‖ " if other and not nested else " → "
        text += f"{separator if text else ''}{step.state}"
        before = step.branch
    return text


@dataclass(frozen=True, slots=True)
class Wrote:
    """One write of a pass; ``error`` is the server's message if it was refused."""

    at: datetime
    """When its pass ended."""
    verb: str
    ref: ObjectRef
    part: str = ""
    error: str = ""
    state: str = ""
    """The state that declared the output; "" for the finalizer, the status and pruning."""
    unknown: bool = False
    """Whether no clear answer came: the write may have taken effect."""
    fields: tuple[str, ...] = ()
    """The changed fields of a Secret: their names alone are kept."""
    external: str = ""
    """The name of the ``External`` that was changed outside the cluster, with its id; else empty."""

    def __str__(self) -> str:
        part = f" {self.part}" if self.part else ""
        return f"{self.verb} {self.ref.kind.kind} {self.ref.name}{part}"

    def ended(self, at: datetime) -> "Wrote":
        """Return the write of a pass that ended at ``at``."""
        return replace(self, at=at)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why an object is not Ready, and since when."""

    reason: str
    message: str
    since: datetime
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ObjectView:
    """One object: its phase, the states of its last pass, and its last writes."""

    ref: ObjectRef
    controller: str
    phase: Phase
    generation: int
    path: tuple[Step, ...] = ()
    waiting: Waiting | None = None
    again_at: datetime | None = None
    """When the next pass is due without a watch event; None if only a resync is."""
    again_for: str = ""
    """The state that asked for that pass with ``Done(again=...)``; "" for a retry or a Wait."""
    passes: int = 0
    ended_at: datetime | None = None
    causes: tuple[str, ...] = ()
    """Why the last pass ran."""
    writes: tuple[Wrote, ...] = ()
    """The last writes of its passes, oldest first."""

    @property
    def is_ready(self) -> bool:
        """Whether the condition Ready is True for the current generation."""
        return self.phase == "ready"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All objects of all controllers at one moment."""

    at: datetime
    is_working: bool
    """Whether the caches are in sync, this process leads, and the workers run."""
    objects: tuple[ObjectView, ...] = ()
