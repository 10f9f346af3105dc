"""Timestamps: written as the API does, read leniently."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.values.timestamps import (
    read_time,
    write_exact_time,
    write_micro_time,
    write_time,
)

ZONES = st.sampled_from(
    [UTC, timezone(timedelta(hours=5, minutes=30)), timezone(-timedelta(hours=8))]
)
MOMENTS = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=ZONES)  # noqa: DTZ001 - the zone is drawn


@given(moment=MOMENTS)
def test_a_written_time_is_read_as_the_same_moment(moment: datetime) -> None:
    """To the second or to the microsecond, from any zone, in years of any length."""
    assert read_time(write_exact_time(moment)) == moment
    assert read_time(write_micro_time(moment)) == moment
    assert read_time(write_time(moment)) == moment.replace(microsecond=0)


@given(moment=MOMENTS)
def test_times_have_a_fixed_width(moment: datetime) -> None:
    """The API server compares and sorts some of them as text."""
    assert len(write_time(moment)) == len("2026-01-02T03:04:05Z")
    assert len(write_micro_time(moment)) == len("2026-01-02T03:04:05.000000Z")


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05",
        "2026-01-02T04:04:05+01:00",
        "2026-01-02T03:04:05.000000000Z",
    ],
)
def test_a_time_without_a_zone_is_in_utc(text: str) -> None:
    """The result is aware in each case, so that it can be compared with the clock."""
    moment = read_time(text)
    assert (moment, moment.tzinfo) == (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), UTC)


def test_a_text_that_is_not_a_time_is_refused() -> None:
    """As a ValueError, which callers turn into an error of their own."""
    with pytest.raises(ValueError, match="Invalid isoformat"):
        read_time("soon")
