"""LoopClock: the only place in this package that reads the wall clock or sleeps."""

import asyncio
from datetime import UTC, datetime


class LoopClock:
    """A Clock whose monotonic time is that of the event loop, so it follows virtual time."""

    def now(self) -> datetime:
        """Return the wall-clock time in UTC."""
        return datetime.now(UTC)  # noqa: TID251  the one place that may read the clock

    def monotonic(self) -> float:
        """Return the time of the event loop, in seconds."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Sleep on a timer of the event loop."""
        await asyncio.sleep(seconds)  # noqa: TID251  the one place that may sleep
