"""The clock is a seam."""

from datetime import UTC, datetime

from myrmidon.api.clock import Clock


class Stopped:
    """A clock that a test decides about."""

    def now(self) -> datetime:
        """Give the same moment, always."""
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        """Give no duration."""
        return 0.0

    async def sleep(self, seconds: float) -> None:
        """Wait for nothing."""


def test_anything_with_the_three_methods_is_a_clock() -> None:
    """No base class, no registration: mypy checks the shape."""
    clock: Clock = Stopped()

    assert clock.now().tzinfo is UTC
    assert clock.monotonic() == 0.0
