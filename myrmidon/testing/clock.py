"""Virtual time: an hour passes in a millisecond, exactly.

The loop runs everything that is ready; when nothing is, it jumps to the next timer.  Where no timer
is set either, everybody waits for something that nobody will do, and the loop says so instead of
hanging.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any, TypeVar

T = TypeVar("T")

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class DeadlockError(RuntimeError):
    """Every task waits, and no timer would ever wake one."""


class _JumpingSelector(selectors.DefaultSelector):
    """Waits for nothing: what the loop would wait for is added to its time instead."""

    loop: "VirtualTimeLoop"

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise DeadlockError("all tasks wait, and no timer is set that would wake one")
        self.loop.jump(timeout)
        return super().select(0)


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose time moves only when nothing is left to do."""

    _scheduled: list[asyncio.TimerHandle]  # of the loops of the standard library
    _clock_resolution: float

    def __init__(self) -> None:
        self._virtual_seconds = 0.0
        selector = _JumpingSelector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._virtual_seconds

    def first_timer(self) -> float:
        """Return when the next timer fires; infinity if there is none."""
        return self._scheduled[0].when() if self._scheduled else inf

    def next_timer(self) -> float:
        """Return when the next timer fires, and a moment from now if there is none or it is due."""
        at = self.first_timer()
        return max(0.0 if at == inf else at, self._virtual_seconds + 0.001)

    def jump(self, seconds: float) -> None:
        """Let time pass at once.

        The loop rings a timer that is due within a nanosecond.  Time must have come that far, too:
        who looks at the clock, finds that it is too early and sets the timer again would do so for
        ever, in no time.
        """
        self._virtual_seconds += max(seconds, 0.0)
        if self._scheduled:
            due_at = self._scheduled[0].when()
            if due_at <= self._virtual_seconds + self._clock_resolution:
                self._virtual_seconds = max(self._virtual_seconds, due_at)


class VirtualClock:
    """The clock of a loop in virtual time; the time of day starts at a fixed moment."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def now(self) -> datetime:
        """The time of day."""
        return EPOCH + timedelta(seconds=self._loop.time())

    def monotonic(self) -> float:
        """The loop's own time, in seconds."""
        return self._loop.time()

    async def sleep(self, seconds: float) -> None:
        """Wait on a timer of the loop."""
        await asyncio.sleep(seconds)  # noqa: TID251 - virtual, because the loop is


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in virtual time, as ``asyncio.run`` would in real time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)
