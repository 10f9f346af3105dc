"""Wakeup: wakes idle workers, one at a time, now or at a set time.

Each ring wakes one sleeper.  If every sleeper woke for each added key, the cost of an event would grow
with the number of workers.  That makes a lost ring serious: the key would wait until some other
worker happens to look.  Two rules prevent it:

- The alarm does not belong to a sleeper.  Whoever looks into the queue sets it for the next key that
  becomes due, also if that worker itself found work and does not sleep (``WorkerPool.take``).
- A sleeper that was woken and is cancelled before it runs passes its ring on.
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
        """Sleep until this sleeper is the one that a ring wakes."""
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
            if not sleeper.done():  # it is done if its worker was cancelled
                sleeper.set_result(None)
                return

    def ring_within(self, seconds: float) -> None:
        """Ring once, after that time at the latest; an alarm that is set for earlier stays."""
        loop = asyncio.get_running_loop()
        self._alarm.set(loop.time() + seconds, loop)

    def ring_for_all(self) -> None:
        """Wake all sleepers."""
        while self._sleepers:
            self.ring()
