"""Tests of cron expressions: known times, mistakes, and random ones against a slow reference."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.cron_job.schedule import parse

MINUTE = timedelta(minutes=1)
NOON = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)  # a Thursday


@pytest.mark.parametrize(
    ("text", "following"),
    [
        ("* * * * *", "2026-01-01 12:01"),
        ("0 12 * * *", "2026-01-02 12:00"),
        ("*/15 * * * *", "2026-01-01 12:15"),
        ("10-50/20 13 * * *", "2026-01-01 13:10"),
        ("5/20 * * * *", "2026-01-01 12:05"),
        ("0 0 * * SUN", "2026-01-04 00:00"),
        ("0 0 * * 7", "2026-01-04 00:00"),
        ("0 0 * * mon-wed", "2026-01-05 00:00"),
        ("0 0 13 * FRI", "2026-01-02 00:00"),  # the 13th, and every Friday
        ("0 0 29 FEB *", "2028-02-29 00:00"),
        ("0 0 1 1,7 *", "2026-07-01 00:00"),
        ("@monthly", "2026-02-01 00:00"),
        ("@yearly", "2027-01-01 00:00"),
    ],
)
def test_the_time_that_follows(text: str, following: str) -> None:
    """The first time after noon on Thursday, the first of January 2026."""
    assert f"{parse(text).after(NOON):%F %R}" == following


WRONG = (
    "; * * * *; * * * * * *; 60 * * * *; * 24 * * *; * * 0 * *; * * * 13 *; * * * * 8; 5-1 * * * *;"
    "*/0 * * * *; x * * * *; 1- * * * *; -1 * * * *; 1,,2 * * * *; @often; 1/ * * * *; * * * SUN *;"
    "0 0 30 2 *; 0 0 31 4,6,9,11 *"
)


@pytest.mark.parametrize("text", WRONG.split(";"))
def test_a_mistake_is_refused(text: str) -> None:
    """An invalid field is refused, and so is a schedule that is never due."""
    with pytest.raises(ValueError, match=r".+"):
        parse(text)


def test_two_leap_years_can_be_eight_years_apart() -> None:
    """The year 2100 is not a leap year."""
    schedule = parse("0 0 29 2 *")
    assert schedule.after(datetime(2096, 3, 1, tzinfo=UTC)).year == 2104
    assert schedule.latest(datetime(2104, 2, 28, tzinfo=UTC)).year == 2096


# ----------------------------------------------------------- against a slow implementation

Field = tuple[str, frozenset[int]]


@st.composite
def fields(draw: st.DrawFn, low: int, high: int) -> Field:
    """Draw a field as text, with the numbers that it means."""
    texts: list[str] = []
    meant: set[int] = set()
    for _ in range(draw(st.integers(0, 3))):
        first, last = sorted((draw(st.integers(low, high)), draw(st.integers(low, high))))
        step = draw(st.integers(1, 9))
        text, numbers = draw(
            st.sampled_from(
                [
                    (f"{first}", range(first, first + 1)),
                    (f"{first}-{last}", range(first, last + 1)),
                    (f"{first}-{last}/{step}", range(first, last + 1, step)),
                    (f"{first}/{step}", range(first, high + 1, step)),
                    (f"*/{step}", range(low, high + 1, step)),
                ]
            )
        )
        texts.append(text)
        meant |= set(numbers)
    return (",".join(texts), frozenset(meant)) if texts else ("*", frozenset(range(low, high + 1)))


schedules = st.tuples(
    fields(0, 59), fields(0, 23), fields(1, 31), fields(1, 12), fields(0, 7)
).filter(lambda drawn: min(drawn[2][1]) <= 28)  # every month has such a day
moments = st.datetimes(datetime(2024, 1, 1), datetime(2026, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds the zone


def is_due(schedule: tuple[Field, ...], at: datetime) -> bool:
    """Whether a schedule is due at this minute, by the definition."""
    minutes, hours, days, months, weekdays = schedule
    by_day, by_weekday = (
        at.day in days[1],
        bool({at.isoweekday(), at.isoweekday() % 7} & weekdays[1]),
    )
    either = days[0] != "*" and weekdays[0] != "*"
    day = by_day or by_weekday if either else by_day and by_weekday
    return day and at.minute in minutes[1] and at.hour in hours[1] and at.month in months[1]


@settings(derandomize=True, deadline=None)
@given(schedule=schedules, moment=moments)
def test_no_due_minute_is_left_out(schedule: tuple[Field, ...], moment: datetime) -> None:
    """Both neighbours of a moment are due, and no minute between them is, in a window of two days."""
    parsed = parse(" ".join(text for text, _ in schedule))
    before, after = parsed.latest(moment), parsed.after(moment)

    assert before <= moment < after
    assert is_due(schedule, before)
    assert is_due(schedule, after)
    assert parsed.after(before) == after
    assert parsed.latest(after) == after
    assert parsed.latest(after - timedelta.resolution) == before
    first, last = max(before, moment - timedelta(days=1)), min(after, moment + timedelta(days=1))
    at = first.replace(second=0, microsecond=0) + MINUTE
    while at < last:
        assert not is_due(schedule, at), at
        at += MINUTE
