"""Bell: wakes one sleeper at a time, now or at a set time.

Were all woken whenever one key is added, the cost of an event would grow with the number of workers.
"""

import asyncio
from collections import deque

from myrmidon.io.alarm import Alarm


class Bell:
    """Sleepers, in the order in which they fell asleep, and one alarm for all of them."""

    def __init__(self) -> None:
        self._sleepers: deque[asyncio.Future[None]] = deque()
        self._alarm = Alarm(self.ring)

    async def sleep(self, seconds: float | None) -> None:
        """Sleep until rung awake; so many seconds from now somebody will be, at the latest."""
        loop = asyncio.get_running_loop()
        if seconds is not None:
            self._alarm.set(loop.time() + seconds, loop)
        sleeper: asyncio.Future[None] = loop.create_future()
        self._sleepers.append(sleeper)
        await sleeper

    def ring(self) -> None:
        """Wake the one who has slept longest."""
        while self._sleepers:
            sleeper = self._sleepers.popleft()
            if not sleeper.done():  # one who was interrupted is gone
                sleeper.set_result(None)
                return

    def ring_for_all(self) -> None:
        """Wake everybody."""
        while self._sleepers:
            self.ring()
