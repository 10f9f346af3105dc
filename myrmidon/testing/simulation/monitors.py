"""Monitors: the user's own oracles, as plain predicates over the world.

    always(name, p)              p holds after every change of the store, from now on
    never(name, p)               p holds after no change
    eventually(name, p, within)  p holds at some time within so many seconds from now
    leads_to(name, p, q, within) whenever p begins to hold, q holds within so many seconds

With ``fair=True`` the bound of ``eventually`` and ``leads_to`` counts only the time in which no fault was
in force (``fairness``), so it is the same with and without faults.

Predicates are evaluated after every change.  They must be pure: they get a ``World`` and return
whether they hold.  A predicate that raises counts as violated, and its exception is reported.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

from myrmidon.testing.simulation.fairness import FairTime
from myrmidon.testing.simulation.world import World

Predicate: TypeAlias = Callable[[World], Any]
Violated: TypeAlias = Callable[[str, str], None]  # the name of a monitor, and what happened


@dataclass(eq=False)
class Monitor:
    """One property that is watched.  ``end`` stops watching it; it is also a context manager."""

    name: str
    kind: str
    predicate: Predicate
    then: Predicate | None = None
    within: float = 0.0
    fair: bool = False
    since: float = 0.0
    is_over: bool = False
    pending: list[float] = field(default_factory=list)
    held: bool = False
    ever: int = 0  # how often the condition was met, against vacuity

    def end(self) -> None:
        """Stop watching this property."""
        self.is_over = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


class Monitors:
    """All monitors of a run."""

    def __init__(self, world: World, violated: Violated, fair: FairTime | None = None) -> None:
        self._world, self._violated, self._fair = world, violated, fair or FairTime()
        self.all: list[Monitor] = []

    def add(self, monitor: Monitor, now: float) -> Monitor:
        """Watch a property from now on."""
        monitor.since = now
        self.all.append(monitor)
        self._check(monitor, now)
        return monitor

    def check(self, now: float) -> None:
        """Evaluate every monitor; called after each change."""
        for monitor in self.all:
            if not monitor.is_over:
                self._check(monitor, now)

    def finish(self, now: float) -> None:
        """Judge what was still open at the end of the run."""
        for monitor in self.all:
            if monitor.is_over:
                continue
            self._check(monitor, now)
            if monitor.kind == "eventually" and not monitor.is_over:
                self._report(monitor, f"did not hold until the end ({now:g} s)")
            for begun in monitor.pending:
                self._report(monitor, f"did not follow what began at {begun:g} s")
                break

    def _check(self, monitor: Monitor, now: float) -> None:
        try:
            holds = bool(monitor.predicate(self._world))
            follows = monitor.then is not None and bool(monitor.then(self._world))
        except Exception as error:  # noqa: BLE001 - the user's code
            self._report(monitor, f"raised {type(error).__name__}: {error}")
            return
        match monitor.kind:
            case "always" if not holds:
                self._report(monitor, f"does not hold any more ({now:g} s)")
            case "never" if holds:
                self._report(monitor, f"holds ({now:g} s)")
            case "eventually" if self._is_late(monitor, monitor.since, now):
                # Checked at every change: if it holds only now, it did not hold in time.
                self._report(monitor, f"did not hold within {monitor.within:g} s")
            case "eventually" if holds:
                monitor.is_over = True
            case "leads_to":
                self._lead(monitor, holds, follows, now)
            case _:
                pass

    def _lead(self, monitor: Monitor, holds: bool, follows: bool, now: float) -> None:
        if holds and not monitor.held:
            monitor.pending.append(now)
            monitor.ever += 1
        monitor.held = holds
        if monitor.pending and self._is_late(monitor, monitor.pending[0], now):
            self._report(monitor, f"did not follow within {monitor.within:g} s")
        elif follows:
            monitor.pending.clear()

    def _is_late(self, monitor: Monitor, begun: float, now: float) -> bool:
        """Whether the bound of a monitor is over; under fairness, only fair time counts."""
        if now <= begun + monitor.within:
            return False
        return not monitor.fair or self._fair.seconds(begun, now) > monitor.within

    def _report(self, monitor: Monitor, what: str) -> None:
        monitor.is_over = True
        self._violated(monitor.name, f"{monitor.kind} {monitor.name!r}: {what}")
