"""Clock: the interface through which all code reads the time and sleeps.

It is part of ``api`` because both ``io`` and ``runtime`` need it.  Tests pass a clock of their own,
under which time advances only when the test says so.
"""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Wall-clock time, monotonic time, and sleep."""

    def now(self) -> datetime:
        """Return the wall-clock time, aware and in UTC; for timestamps, never for durations."""
        ...

    def monotonic(self) -> float:
        """Return seconds since an arbitrary moment; for durations, never for timestamps."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Sleep.  Other tasks run meanwhile, even if ``seconds`` is 0."""
        ...
