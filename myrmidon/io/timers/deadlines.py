"""Many deadlines, one timer.

``asyncio.timeout`` arms a timer each time it is entered and cancels it each time it is left, although
hardly any ever goes off.  A controller enters thousands a second, so here all of them share one timer:
it is set for the earliest deadline, and looks at the others when it goes off.
"""

import asyncio
from types import TracebackType
from typing import Self

from myrmidon.io.timers.shared_timer import SharedTimer


class Deadlines:
    """Deadlines of tasks of one event loop at a time."""

    def __init__(self) -> None:
        self._running: dict[Deadline, None] = {}
        self._alarm = SharedTimer(self._look)

    def within(self, seconds: float) -> "Deadline":
        """A block of a task that may take so long: ``with deadlines.within(30): ...``."""
        return Deadline(self, seconds)

    def add(self, deadline: "Deadline", loop: asyncio.AbstractEventLoop) -> None:
        """Watch over a block that begins."""
        self._running[deadline] = None
        self._alarm.set(deadline.at, loop)

    def remove(self, deadline: "Deadline") -> None:
        """It has ended.  The alarm stays: it finds nothing to do, or serves the next one."""
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
    """One block; like ``asyncio.timeout``, it raises TimeoutError where the block was interrupted."""

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
        # A task that somebody else has cancelled as well is cancelled, not late.
        if self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def expire(self) -> None:
        """The time is over: interrupt the block, once."""
        if not self.is_over:
            self.is_over = True
            self._task.cancel()
