"""A fixed number of places, for callers who mostly find one free.

``asyncio.Semaphore`` does the same for the price of two coroutines and a generator each time.  Here
a free place costs a comparison.  Callers who have to wait are served in the order in which they came:
a place that is given back goes to the first of them, and is never free in between.
"""

import asyncio
from collections import deque


class Slots:
    """``if not slots.take(): await slots.wait()``, and later ``slots.give_back()``."""

    def __init__(self, count: int) -> None:
        self.free = count
        self._waiting: deque[asyncio.Future[None]] = deque()

    def take(self) -> bool:
        """Take a place if one is free."""
        if not self.free:
            return False
        self.free -= 1
        return True

    async def wait(self) -> None:
        """Wait for a place, and take it."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # the place came at the same moment
                self.give_back()
            raise

    def give_back(self) -> None:
        """Give a place to the first who waits for one."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.free += 1
