"""Vitals: how a process is at one moment, apart from its objects."""

from collections.abc import Mapping
from dataclasses import dataclass

from myrmidon.io.watch.subscriptions import Health


@dataclass(frozen=True, slots=True)
class ControllerVitals:
    """The queue of one controller, and what it did since the process started."""

    controller: str
    queued: int
    """Keys that are due and wait for a worker."""
    in_work: int
    workers: int
    passes: int
    writes: int
    errors: int
    """Passes that failed."""


@dataclass(frozen=True, slots=True)
class Vitals:
    """One process: leadership, event loop, caches and queues."""

    leads: bool | None
    """Whether this replica leads; None without leader election."""
    is_working: bool
    lag_seconds: float
    """The longest time that the event loop was blocked in the last one to two minutes."""
    caches: tuple[Health, ...]
    controllers: tuple[ControllerVitals, ...]
    problems: Mapping[str, str]
    """The checks of readyz that fail."""
    identity: str = ""
    """The name of this replica in the Lease; "" without leader election."""
    leader: str = ""
    """The replica that leads, as the Lease said when it was read last; "" if none does."""
