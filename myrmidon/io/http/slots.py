"""Slots: a semaphore that is cheap while a slot is free.

``asyncio.Semaphore`` needs two coroutines and a generator for each use; here, taking a free slot is
one comparison.  Waiting callers are served in order: a slot that is given back goes directly to the
first of them, so no later caller can take it in between.
"""

import asyncio
from collections import deque


class Slots:
    """Use: ``if not slots.take(): await slots.wait()``, and later ``slots.give_back()``."""

    def __init__(self, count: int) -> None:
        self.free = count
        self._waiting: deque[asyncio.Future[None]] = deque()

    def take(self) -> bool:
        """Take a slot if one is free; return whether it was."""
        if not self.free:
            return False
        self.free -= 1
        return True

    async def wait(self) -> None:
        """Wait for a slot, and take it."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # the slot was handed over before the cancellation
                self.give_back()
            raise

    def give_back(self) -> None:
        """Give the slot to the first waiting caller, or mark it as free."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.free += 1
