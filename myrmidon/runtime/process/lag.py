"""LoopLag: measures for how long the event loop is blocked.

A task sleeps for a tenth of a second, over and over, and measures how much too late it wakes up.
During that time the loop was busy with other code: a state that blocks, a library that computes, or
the process got no CPU or was suspended.  The measured lag of a turn is at most its length, and less
if the turn began before the sleep was over; the longest of many samples is close to the longest
turn.

The metric is the longest lag of the last one to two minutes, so that no scrape misses a short
block.  A lag of more than a second is logged, because it endangers the Lease and the probes.

In virtual time code takes no time, so the manager starts this task only on the real clock.
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
        """Take samples until cancelled."""
        while True:
            due_at = self._clock.monotonic() + SAMPLE_SECONDS
            await self._clock.sleep(SAMPLE_SECONDS)
            now = self._clock.monotonic()
            self.note(max(now - due_at, 0.0), now)

    def note(self, seconds: float, now: float) -> None:
        """Record one sample, and log it if it is longer than ``WARN_SECONDS``."""
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
