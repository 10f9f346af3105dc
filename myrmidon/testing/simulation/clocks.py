"""ProcessClock: the clock of one simulated process, whose time of day may be wrong."""

from datetime import datetime, timedelta

from myrmidon.testing.harness.clock import VirtualClock


class ProcessClock(VirtualClock):
    """Virtual time, with a time of day of its own."""

    jumped_seconds = 0.0
    _rate = 0.0
    _since = 0.0

    def drift(self, rate: float) -> None:
        """Gain ``rate`` seconds per second from now on."""
        self.jumped_seconds += (self.monotonic() - self._since) * self._rate
        self._rate, self._since = rate, self.monotonic()

    def now(self) -> datetime:
        """Return the time of day as this process sees it."""
        gained = (self.monotonic() - self._since) * self._rate if self._rate else 0.0
        return super().now() + timedelta(seconds=self.jumped_seconds + gained)
