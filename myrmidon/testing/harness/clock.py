"""Virtual time: an event loop that jumps to the next timer instead of waiting for it.

The loop runs all callbacks that are ready.  When none is, it sets its time to that of the next
timer, so an hour passes in a millisecond, and timers fire at exactly their time.  If no timer is
set either, no task can ever continue: the loop raises ``DeadlockError`` instead of hanging.

``turns`` has the turns of the loop; those with sockets are asyncio's own, with a selector that does not wait.
"""

import asyncio
import selectors
import time
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any, TypeVar

from myrmidon.testing.harness.turns import DeadlockError, LeanTurns

T = TypeVar("T")

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
TURNS_MAX = 100_000
"""Turns of the event loop without time passing; a thousand new objects need 20,000."""


class _JumpingSelector(selectors.DefaultSelector):
    """A selector that does not wait: it adds the timeout to the time of the loop instead."""

    loop: "VirtualTimeLoop"

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise DeadlockError
        self.loop.jump(timeout)
        return super().select(0)

    def register(self, *args: Any, **options: Any) -> selectors.SelectorKey:
        self.loop.sockets += 1
        return super().register(*args, **options)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        self.loop.sockets -= 1
        return super().unregister(fileobj)


class VirtualTimeLoop(LeanTurns):
    """An event loop whose time moves only when no callback is ready."""

    def __init__(self) -> None:
        selector = _JumpingSelector()
        selector.loop = self
        super().__init__(selector)
        self.sockets = 0  # without the one with which asyncio wakes itself

    def time(self) -> float:
        """Return the virtual seconds since the loop was created."""
        return self.virtual_seconds

    def first_timer(self) -> float:
        """Return when the next timer fires; infinity if there is none."""
        timers = self._scheduled
        return float(timers[0].when()) if timers else inf

    def next_timer(self) -> float:
        """Return when the next timer fires, but at least a millisecond from now."""
        at = self.first_timer()
        return max(0.0 if at == inf else at, self.virtual_seconds + 0.001)

    def jump(self, seconds: float) -> None:
        """Move the time forward.

        asyncio fires a timer up to one clock resolution early.  Then the time is moved to the
        timer's own: otherwise code that checks the clock, finds itself too early and sets the timer
        again would do so for ever without time passing.
        """
        self.virtual_seconds += max(seconds, 0.0)
        if self._scheduled:
            due_at = self._scheduled[0].when()
            if due_at <= self.virtual_seconds + self._clock_resolution:
                self.virtual_seconds = max(self.virtual_seconds, due_at)


class VirtualClock:
    """The clock of a loop in virtual time; its wall clock starts at ``EPOCH``."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def monotonic(self) -> float:
        """Return the time of the loop, in seconds."""
        return self._loop.time()

    def now(self) -> datetime:
        """Return the wall clock time."""
        return EPOCH + timedelta(seconds=self._loop.time())

    async def sleep(self, seconds: float) -> None:
        """Wait for so many virtual seconds."""
        await asyncio.sleep(seconds)  # noqa: TID251 - virtual time, because of the loop


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine as ``asyncio.run`` does, but in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


def real_seconds() -> float:
    """Return real time, in seconds since an arbitrary moment: for budgets of explorations."""
    return time.monotonic()


async def reached(at: float, loop: asyncio.AbstractEventLoop) -> None:
    """Wait until the loop's time is exactly ``at``, without the rounding errors of a delay."""
    future: asyncio.Future[None] = loop.create_future()
    loop.call_at(at, future.set_result, None)
    await future


async def quiesced(loop: asyncio.AbstractEventLoop) -> bool:
    """Yield to the loop until no callback is ready; return False after ``TURNS_MAX`` turns."""
    ready = loop._ready  # type: ignore[attr-defined]  # noqa: SLF001 - the only way to ask
    await asyncio.sleep(0)  # noqa: TID251 - yields to the loop without waiting
    for _ in range(TURNS_MAX):
        if not ready:
            return True
        await asyncio.sleep(0)  # noqa: TID251
    return False
