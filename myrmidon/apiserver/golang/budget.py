"""How many steps the programs of clients may take: regular expressions and JSON paths.

A pattern takes linear time and a JSON path visits every value a few times, but both the program and
the text that it runs over come from clients, and one of them must not stop the server for everybody.
Each piece of work opens a ``StepBudget``; what runs inside calls ``spend``; without a budget there is
no limit.  A step is worth about half a microsecond.
"""

from contextvars import ContextVar

_left: ContextVar[list[int] | None] = ContextVar("steps left", default=None)


class StepBudgetError(Exception):
    """The work took more steps than its budget allows."""


class StepBudget:
    """A block inside which the programs of clients take so many steps at most, in all.

    A class and not a generator: every request opens one, and this costs a third.
    """

    __slots__ = ("_steps", "_token")

    def __init__(self, steps: int) -> None:
        self._steps = steps

    def __enter__(self) -> None:
        self._token = _left.set([self._steps])

    def __exit__(self, *_: object) -> None:
        _left.reset(self._token)


def spend(steps: int) -> None:
    """Take steps off the budget, if there is one; raises ``StepBudgetError``."""
    left = _left.get()
    if left is not None:
        left[0] -= steps
        if left[0] < 0:
            raise StepBudgetError
