"""The clock of the running event loop: the only place in this package that reads one."""

import asyncio
from datetime import UTC, datetime


class LoopClock:
    """Durations come from the event loop, so a loop in virtual time is obeyed."""

    def now(self) -> datetime:
        """The time of day in UTC."""
        return datetime.now(UTC)  # noqa: TID251  the one place that may ask

    def monotonic(self) -> float:
        """The loop's own time, in seconds."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Wait on a timer of the loop."""
        await asyncio.sleep(seconds)  # noqa: TID251  the one place that may wait
