"""Times and durations as Go reads them.  The answers are recorded from kube-apiserver v1.36.4."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.values.timestamps import write_micro_time, write_time
from myrmidon.apiserver.golang.durations import is_loose_duration, parse_duration
from myrmidon.apiserver.golang.times import (
    TimeError,
    from_unix,
    is_date,
    is_date_time,
    parse_micro_time,
    parse_time,
    read_time,
)

AS_RFC3339 = ' as "2006-01-02T15:04:05Z07:00": cannot parse '


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2024-01-01T1:02:03Z", "2024-01-01T01:02:03Z"),
        ("2024-01-01T01:02:03,5Z", "2024-01-01T01:02:03Z"),
        ("2024-01-01T01:02:03+24:00", "2023-12-31T01:02:03Z"),
        ("2024-01-01T01:02:03+23:60", "2023-12-31T01:02:03Z"),
        ("2024-01-01T00:00:00-12:34", "2024-01-01T12:34:00Z"),
    ],
)
def test_times_that_go_accepts(text: str, written: str) -> None:
    """An hour of one digit, a comma, an offset of a whole day."""
    assert write_time(parse_time(text)) == written


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("2024-01-01T01:02:03+25:00", ": time zone offset hour out of range"),
        ("2024-01-01T01:02:03+23:61", ": time zone offset minute out of range"),
        ("2024-13-01T00:00", ": month out of range"),
        ("2024-00-01T00:00:00Z", ": month out of range"),
        ("2024-02-30T00:00:00Z", ": day out of range"),
        ("2024-01-00T00:00:00Z", ": day out of range"),
        ("2024-01-01T25:00", ": hour out of range"),
        ("2024-01-01T24:00:00Z", ": hour out of range"),
        ("2024-01-01T9:99:00Z", ": minute out of range"),
        ("2024-01-01T00:00:60Z", ": second out of range"),
        ("2024-01-01T00:00:00Zx", ': extra text: "x"'),
        ("2024-01-01T:00:00Z", f'{AS_RFC3339}":00:00Z" as "15"'),
        ("2024-01-01T111:00:00Z", f'{AS_RFC3339}"1:00:00Z" as ":"'),
        ("2024-01-01T00:00:00.Z", f'{AS_RFC3339}".Z" as "Z07:00"'),
        ("2024-01-01T00:00:00", f'{AS_RFC3339}"" as "Z07:00"'),
        ("2024-01-01t00:00:00Z", f'{AS_RFC3339}"t00:00:00Z" as "T"'),
    ],
)
def test_the_error_names_the_first_part_that_is_wrong(text: str, problem: str) -> None:
    """A part out of range is reported before a later part is missed."""
    with pytest.raises(TimeError) as caught:
        parse_time(text)
    assert str(caught.value) == f'parsing time "{text}"{problem}'


@pytest.mark.parametrize("text", ["2024-01-01T1:02:03.123456Z", "2024-01-01T01:02:03,123456Z"])
def test_micro_times_that_go_accepts(text: str) -> None:
    """Six digits, behind a point or a comma."""
    assert write_micro_time(parse_micro_time(text)) == "2024-01-01T01:02:03.123456Z"


@pytest.mark.parametrize(
    ("text", "rest", "part"),
    [
        ("2024-01-01T01:02:03.12345Z", ".12345Z", ".000000"),
        ("2024-01-01T01:02:03.1234567Z", "7Z", "Z07:00"),
        ("2024-01-01T01:02:03Z", "Z", ".000000"),
    ],
)
def test_a_micro_time_has_six_digits(text: str, rest: str, part: str) -> None:
    """Neither more nor fewer."""
    with pytest.raises(TimeError, match=f'cannot parse "{rest}" as "{part}"'):
        parse_micro_time(text)


@given(seconds=st.integers(-62135596800, 253402300799))
def test_times_are_read_back(seconds: int) -> None:
    """All moments of the years 1 to 9999."""
    text = write_time(from_unix(seconds))
    assert read_time(text) == (seconds, 0, 0)
    assert is_date_time(text)


def test_years_that_python_does_not_have() -> None:
    """Go has the leap year 0; this server parses it as a date but does not store it."""
    assert is_date("0000-02-29")
    assert not is_date("0100-02-29")
    assert (
        read_time("0000-12-31T23:59:59Z").seconds == read_time("0001-01-01T00:00:00Z").seconds - 1
    )
    for text in ("0000-01-01T00:00:00Z", "9999-12-31T23:59:59-01:00"):
        with pytest.raises(TimeError, match="out of range"):
            parse_time(text)
    with pytest.raises(TimeError, match="out of range"):
        from_unix(10**15)


def test_durations() -> None:
    """Go's form is limited to 64 bits; the other form takes words and is not."""
    assert parse_duration("-1h0.5s") == -3600_500_000_000
    with pytest.raises(ValueError, match="invalid duration"):
        parse_duration("9999999999h")
    for text in ("1h", "2 days", "3weeks", "9999999999h", "5 Minutes"):
        assert is_loose_duration(text), text
    for text in ("", "1", "h", "1 parsec", "99999999999.h"):
        assert not is_loose_duration(text), text
