"""Snapshot: a frozen picture of the running process, for people and for the tools that they look at.

It is made when somebody asks, from what the trace remembers and the caches hold.  Nothing in it is
shared with the process, so a view may keep it as long as it likes.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from myrmidon.api.refs import ObjectRef

Phase: TypeAlias = Literal["new", "ready", "waiting", "failing", "deleting", "suspended", "gone"]


@dataclass(frozen=True, slots=True)
class Step:
    """A state that the last pass ran, and what its condition says."""

    state: str
    condition: str
    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Wrote:
    """One write of a pass, and what was wrong with it if it was refused."""

    at: datetime
    verb: str
    ref: ObjectRef
    part: str = ""
    error: str = ""

    def __str__(self) -> str:
        part = f" {self.part}" if self.part else ""
        return f"{self.verb} {self.ref.kind.kind} {self.ref.name}{part}"


@dataclass(frozen=True, slots=True)
class Waiting:
    """What keeps an object from being Ready, and since when it does."""

    reason: str
    message: str
    since: datetime
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ObjectView:
    """One object as its controller sees it."""

    ref: ObjectRef
    controller: str
    phase: Phase
    generation: int
    path: tuple[Step, ...] = ()
    waiting: Waiting | None = None
    again_at: datetime | None = None
    """When it is looked at again although nothing changes; None where only a resync would."""
    passes: int = 0
    ended_at: datetime | None = None
    causes: tuple[str, ...] = ()
    """Why the last pass ran."""
    writes: tuple[Wrote, ...] = ()
    """The last writes of its passes, oldest first."""

    @property
    def is_ready(self) -> bool:
        """Whether its walk has reached an end for the generation that it has."""
        return self.phase == "ready"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All objects of all controllers at one moment."""

    at: datetime
    is_working: bool
    """Whether the caches are in sync, this process leads, and workers run."""
    objects: tuple[ObjectView, ...] = ()
