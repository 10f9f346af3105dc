"""The clock, as a seam: whoever needs the time or a pause is handed one of these.

It lives among the values because both the hands on the server and the loops above them wait.
A test hands in a clock of its own and decides itself when an hour has passed.
"""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The time of day, the time that only moves forward, and waiting."""

    def now(self) -> datetime:
        """The time of day, aware, in UTC: for timestamps, never for durations."""
        ...

    def monotonic(self) -> float:
        """Seconds since some moment: for durations, never for timestamps."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; other tasks run meanwhile, also when there is nothing to wait for."""
        ...
