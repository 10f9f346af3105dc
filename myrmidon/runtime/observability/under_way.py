"""PassUnderWay: what a pass has done so far, for those who record it.

A pass sends its writes through the applicator, possibly from several tasks, and runs its states
through ``run_state``.  Neither knows which pass it works for.  A context variable does: the task of
the pass sets it, and tasks that the pass starts inherit it.

A task that a state leaves behind keeps the context of its pass.  ``ended`` tells it apart.
"""

from contextvars import ContextVar
from typing import Any, TypeAlias

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.runtime.queue.queue import Turn

WriteNote: TypeAlias = tuple[Any, ...]
"""The arguments of a ``Wrote``, in its order: a plain tuple costs a tenth of the object."""


class PassUnderWay:
    """One pass, from its first state to its end."""

    __slots__ = ("ended", "seconds", "turn", "writes")

    def __init__(self, turn: Turn[ObjectRef]) -> None:
        self.turn = turn
        self.seconds: list[float] = []
        """How long each state took, in the order in which they ran."""
        self.writes: list[WriteNote] = []
        self.ended = False


current_pass: ContextVar[PassUnderWay | None] = ContextVar("current_pass", default=None)
"""The pass for which the running code works; None outside passes, and if nothing is recorded."""
