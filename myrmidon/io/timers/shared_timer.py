"""SharedTimer: one timer for many users, set for the earliest time that any of them needs."""

import asyncio
from collections.abc import Callable

_NEVER = float("inf")


class SharedTimer:
    """Calls ``rings`` once, at the earliest time it was set for; then it has to be set again."""

    def __init__(self, rings: Callable[[], None]) -> None:
        self._rings = rings
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._at = _NEVER

    def set(self, at: float, loop: asyncio.AbstractEventLoop) -> None:
        """Fire at ``at`` (of the loop's clock), unless it is already set for an earlier time."""
        if at < self._at or loop is not self._loop:
            if self._timer is not None:
                self._timer.cancel()
            self._loop, self._at = loop, at
            self._timer = loop.call_at(at, self._ring)

    def _ring(self) -> None:
        self._at, self._timer = _NEVER, None
        self._rings()
