"""Healing: what a fault changed in the world is changed back, after a while or at the end of a run.

A fault that lasts (a foreign object in the way, a definition that is not served) is undone when its time
is over, or when all faults of the run are healed, whichever comes first, and only once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from myrmidon.api.objects.accessors import Json

RECOVERY_SECONDS = 900.0
"""How long controllers may take to reach the end after all faults: three of the longest backoffs."""


@dataclass(slots=True)
class Recovery:
    """How a run came to its end after all faults were over."""

    in_outage: list[Json] | None = None
    """All objects at rest while a part was broken for ever; None without an outage."""
    healed_at: float = 0.0
    healed_from: int = 0
    """The number of commits before all faults were over."""
    recovered_from: int = 0
    """The number of commits before the controllers had settled after all faults."""
    rests_from: int = 0
    """The number of entries of the trace before the controllers had to be at rest."""
    allowed_seconds: float = RECOVERY_SECONDS


class _Later(Protocol):
    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call a function of the environment after a time."""
        ...


class Healing:
    """The changes of a run that are still to be undone, in the order in which they were made."""

    def __init__(self, run: _Later) -> None:
        self._run = run
        self._open: dict[int, Callable[[], None]] = {}
        self._outages: set[int] = set()
        self._last = 0

    def after(self, seconds: float, undo: Callable[[], None], *, outage: bool = False) -> None:
        """Call ``undo`` after so many seconds, or when all faults end; 0 seconds: only then.

        ``outage``: the fault stays until the rest of the world was judged.
        """
        self._last += 1
        number = self._last
        self._open[number] = undo
        if outage:
            self._outages.add(number)
        if seconds:
            self._run.later(seconds, lambda: self._undo(number))

    def undo_all(self, *, outages: bool = True) -> None:
        """Undo everything that is still open, or everything but outages."""
        for number in list(self._open):
            if outages or number not in self._outages:
                self._undo(number)

    def _undo(self, number: int) -> None:
        undo = self._open.pop(number, None)
        if undo is not None:
            undo()
