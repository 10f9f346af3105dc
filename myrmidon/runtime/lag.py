"""LoopLag: how long the event loop did not turn.

A task sleeps for a tenth of a second, over and over, and looks how much later than that it wakes
up.  The difference is the time during which the loop was busy with other code: a state that blocks,
a library that computes, a process that gets too little CPU or was suspended.  It is measured from
within the sleep, so a turn of a given length shows up as at most that length, and as less if it had
begun before the sleep was over; the longest of many is close to the longest turn.

The metric is the longest lag of the last one to two minutes, so that no scrape misses a short
standstill.  A lag of more than a second is logged, because the Lease and the probes are at stake.

In virtual time code takes no time and there is nothing to measure, so the manager starts this task
only if it runs on the clock of the event loop.
"""

from typing import NoReturn

from myrmidon.api.clock import Clock
from myrmidon.runtime.logs import Logger

SAMPLE_SECONDS = 0.1
WINDOW_SECONDS = 60.0
WARN_SECONDS = 1.0


class LoopLag:
    """Samples the lag of the running event loop."""

    def __init__(self, clock: Clock, log: Logger) -> None:
        self._clock, self._log = clock, log
        self._longest = self._longest_before = 0.0
        self._window_ends_at = float("-inf")

    async def run(self) -> NoReturn:
        """Measure until cancelled."""
        while True:
            due_at = self._clock.monotonic() + SAMPLE_SECONDS
            await self._clock.sleep(SAMPLE_SECONDS)
            now = self._clock.monotonic()
            self.note(max(now - due_at, 0.0), now)

    def note(self, seconds: float, now: float) -> None:
        """Count one measured lag."""
        self._turn_window(now)
        self._longest = max(self._longest, seconds)
        if seconds > WARN_SECONDS:
            self._log.warning(
                "event loop was blocked",
                seconds=round(seconds, 1),
                fix="look for 'state blocked the event loop'; give the process more CPU",
            )

    def longest(self, now: float) -> float:
        """Return the longest lag, in seconds, of the last one to two windows."""
        self._turn_window(now)
        return max(self._longest, self._longest_before)

    def _turn_window(self, now: float) -> None:
        if now < self._window_ends_at:
            return
        is_next = now < self._window_ends_at + WINDOW_SECONDS
        self._longest_before = self._longest if is_next else 0.0
        self._longest = 0.0
        self._window_ends_at = now + WINDOW_SECONDS
