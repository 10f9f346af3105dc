"""Wakeup: wakes idle workers, one at a time, now or at a set time.

Each ring wakes one sleeper.  If every sleeper woke for each added key, the cost of an event would
grow with the number of workers.  So a ring must not be lost: its key would wait until another
worker happens to check the queue.  Two rules prevent that:

- The alarm does not belong to a sleeper.  Each worker that checks the queue sets the alarm for the
  next key that becomes due, even if the worker has found work and does not sleep
  (``WorkerPool.take``).
- A sleeper that was woken, but is cancelled before it runs, passes its ring on to the next one.
"""

import asyncio
from collections import deque

from myrmidon.io.timers.shared_timer import SharedTimer


class Wakeup:
    """Sleepers, in the order in which they fell asleep, and one alarm for all of them."""

    def __init__(self) -> None:
        self._sleepers: deque[asyncio.Future[None]] = deque()
        self._alarm = SharedTimer(self.ring)

    async def sleep(self) -> None:
        """Sleep until a ring wakes this sleeper."""
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append(sleeper)
        try:
            await sleeper
        except asyncio.CancelledError:
            if sleeper.done() and not sleeper.cancelled():
                self.ring()
            raise

    def ring(self) -> None:
        """Wake the sleeper that has slept longest, if there is one."""
        while self._sleepers:
            sleeper = self._sleepers.popleft()
            if not sleeper.done():  # a future is done if its worker was cancelled
                sleeper.set_result(None)
                return

    def ring_within(self, seconds: float) -> None:
        """Ring once, after that time at the latest; an alarm for an earlier time stays set."""
        loop = asyncio.get_running_loop()
        self._alarm.set(loop.time() + seconds, loop)

    def ring_for_all(self) -> None:
        """Wake all sleepers."""
        while self._sleepers:
            self.ring()
