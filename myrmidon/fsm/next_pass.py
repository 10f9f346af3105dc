"""What an outcome says about the next pass: a schedule, and the attempts of a failing object."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple


class Schedule(NamedTuple):
    """When a state that holds wants the next pass (``Done(again=...)``), and which state."""

    at: datetime
    state: str


class Attempt(NamedTuple):
    """A failed attempt: its number in a row, and the seconds until the next; None for no other."""

    number: int
    delay: float | None
    said: str = ""  # why retrying was given up, and how to go on


def scheduled(again: timedelta | datetime, now: datetime, state: str) -> Schedule:
    """Return the schedule that a state asks for; a delay too long for a datetime is the last one."""
    if isinstance(again, datetime):
        return Schedule(again, state)
    try:
        return Schedule(now + again, state)
    except OverflowError:
        return Schedule(datetime.max.replace(tzinfo=UTC), state)
