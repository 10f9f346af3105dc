"""Deadlines: ``asyncio.timeout`` for many tasks, on one timer.

``asyncio.timeout`` sets a timer whenever it is entered and cancels it whenever it is left, although
hardly any of them fires.  A controller enters thousands in a second, so here all deadlines share
one timer.  It is set for the earliest deadline; when it fires, it expires all that are due and is
set for the next.
"""

import asyncio
from types import TracebackType
from typing import Self

from myrmidon.io.timers.shared_timer import SharedTimer


class Deadlines:
    """The deadlines of the tasks of one event loop at a time."""

    def __init__(self) -> None:
        self._running: dict[Deadline, None] = {}
        self._alarm = SharedTimer(self._look)

    def within(self, seconds: float) -> "Deadline":
        """Return a context manager that limits its block: ``with deadlines.within(30): ...``."""
        return Deadline(self, seconds)

    def add(self, deadline: "Deadline", loop: asyncio.AbstractEventLoop) -> None:
        """Start a deadline."""
        self._running[deadline] = None
        self._alarm.set(deadline.at, loop)

    def remove(self, deadline: "Deadline") -> None:
        """End a deadline.  The timer stays set, and does nothing if no deadline is due then."""
        del self._running[deadline]

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for deadline in self._running:
            if deadline.at <= now:
                deadline.expire()
        waiting = [one.at for one in self._running if not one.is_over]
        if waiting:
            self._alarm.set(min(waiting), loop)


class Deadline:
    """The deadline of one block.  Raises TimeoutError if it expires, like ``asyncio.timeout``."""

    __slots__ = ("_all", "_cancelling", "_task", "at", "is_over")

    def __init__(self, deadlines: Deadlines, seconds: float) -> None:
        self._all, self.at, self.is_over = deadlines, seconds, False

    def __enter__(self) -> Self:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None, "a deadline interrupts a task"
        self._task, self._cancelling = task, task.cancelling()
        self.at += loop.time()
        self._all.add(self, loop)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._all.remove(self)
        if not self.is_over:
            return
        # If other code has cancelled the task as well, the cancellation wins over the timeout.
        if self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def expire(self) -> None:
        """Cancel the block, once."""
        if not self.is_over:
            self.is_over = True
            self._task.cancel()
