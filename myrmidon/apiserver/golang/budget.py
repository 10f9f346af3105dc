"""How many steps the programs of clients may take: regular expressions and JSON paths.

A pattern takes linear time and a JSON path visits every value a few times, but both the program and
the text that it runs over come from clients, and one of them must not stop the server for everybody.
Each piece of work opens a ``step_budget``; what runs inside calls ``spend``; without a budget there is
no limit.  A step is worth about half a microsecond.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_left: ContextVar[list[int] | None] = ContextVar("steps left", default=None)


class StepBudgetError(Exception):
    """The work took more steps than its budget allows."""


@contextmanager
def step_budget(steps: int) -> Iterator[None]:
    """Let the programs that run inside the block take so many steps in all."""
    token = _left.set([steps])
    try:
        yield
    finally:
        _left.reset(token)


def spend(steps: int) -> None:
    """Take steps off the budget, if there is one; raises ``StepBudgetError``."""
    left = _left.get()
    if left is not None:
        left[0] -= steps
        if left[0] < 0:
            raise StepBudgetError
