"""PassUnderWay: what a pass has done so far, for those who record it.

A pass sends its writes through the applicator, possibly from several tasks, and runs its states
through ``run_state``.  Neither knows which pass it works for.  A context variable does: the task of
the pass sets it, and tasks that the pass starts inherit it.

A task that a state leaves behind keeps the context of its pass.  What it writes after the end of the
pass is dropped.
"""

from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.io.writes.sent_writes import FindSink, WriteParts
from myrmidon.runtime.queue.queue import Turn
from myrmidon.runtime.reconcile.external_effects import ExternalEffect

_NOWHERE: deque[WriteParts | ExternalEffect] = deque(maxlen=0)
drop = _NOWHERE.append
"""Forgets a write."""


class PassUnderWay:
    """One pass, from its first state to its end; the sink of its writes."""

    __slots__ = ("append", "seconds", "turn", "writes")

    def __init__(self, turn: Turn[ObjectRef]) -> None:
        self.turn = turn
        self.seconds: list[float] = []
        """How long each state took, in the order in which they ran."""
        self.writes: list[WriteParts | ExternalEffect] = []
        self.append: Callable[[WriteParts | ExternalEffect], Any] = self.writes.append
        """Notes a write or an effect outside the cluster; ``drop`` when the pass has ended."""

    @property
    def ended(self) -> bool:
        """Whether the pass has ended: ``append`` is ``drop``."""
        return self.append is drop


current_pass: ContextVar[PassUnderWay | None] = ContextVar("current_pass", default=None)
"""The pass for which the running code works; None outside passes, and if nothing is recorded."""

writes_of_pass: FindSink = partial(current_pass.get, _NOWHERE)  # type: ignore[assignment]  # never None
"""Return where the running pass notes its writes; outside passes they are dropped."""
