"""SharedTimer: one timer for many who wait, set for the earliest time that any of them asks for."""

import asyncio
from collections.abc import Callable

_NEVER = float("inf")


class SharedTimer:
    """Calls ``rings`` at the earliest time it was set for, and then has to be set anew."""

    def __init__(self, rings: Callable[[], None]) -> None:
        self._rings = rings
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._at = _NEVER

    def set(self, at: float, loop: asyncio.AbstractEventLoop) -> None:
        """Ring at that time of the loop, unless it rings earlier already."""
        if at < self._at or loop is not self._loop:
            if self._timer is not None:
                self._timer.cancel()
            self._loop, self._at = loop, at
            self._timer = loop.call_at(at, self._ring)

    def _ring(self) -> None:
        self._at, self._timer = _NEVER, None
        self._rings()
