"""ProcessClock: the clock of one simulated process, whose time of day may be wrong."""

from datetime import datetime, timedelta

from myrmidon.testing.harness.clock import VirtualClock


class ProcessClock(VirtualClock):
    """Virtual time, with a time of day of its own."""

    jumped_seconds = 0.0

    def now(self) -> datetime:
        """Return the time of day as this process sees it."""
        return super().now() + timedelta(seconds=self.jumped_seconds)
