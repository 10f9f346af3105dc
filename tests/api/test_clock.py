"""The clock is a protocol, so that tests can replace it."""

from datetime import UTC, datetime

from myrmidon.api.clock import Clock


class Stopped:
    """A clock that stands still."""

    def now(self) -> datetime:
        """Return the same time, always."""
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        """Return 0."""
        return 0.0

    async def sleep(self, seconds: float) -> None:
        """Return at once."""


def test_anything_with_the_three_methods_is_a_clock() -> None:
    """It needs no base class and no registration: mypy checks the methods."""
    clock: Clock = Stopped()

    assert clock.now().tzinfo is UTC
    assert clock.monotonic() == 0.0
