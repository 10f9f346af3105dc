"""Parse times as Go's ``time.Parse`` does: RFC 3339, with any fraction or with exactly six digits.

Go reads a time part by part, and its error names the first part that is missing or out of range.
It is slightly lenient: the hour may have one digit, a comma may replace the decimal point, and an
offset may be 24 hours or 60 minutes.  Times are written by ``api/values/timestamps.py``.

A time before the year 1 or after 9999, which Go accepts, is refused here.
"""

import re
from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from myrmidon.apiserver.golang.text import quote

RFC3339 = "2006-01-02T15:04:05Z07:00"
MICRO = "2006-01-02T15:04:05.000000Z07:00"


class _Part(NamedTuple):
    """One part of a layout: Go's name for it, its pattern, and the range of its number."""

    name: str
    form: str
    label: str = ""
    lowest: int = 0
    highest: int = 0


_DATE_PARTS = (
    _Part("2006", r"\d{4}", "year", 0, 9999),
    _Part("-", "-"),
    _Part("01", r"\d\d", "month", 1, 12),
    _Part("-", "-"),
    _Part("02", r"\d\d", "day", 0, 99),  # checked against the month at the end
)
_TIME_PARTS = (
    *_DATE_PARTS,
    _Part("T", "T"),
    _Part("15", r"\d\d?", "hour", 0, 23),
    _Part(":", ":"),
    _Part("04", r"\d\d", "minute", 0, 59),
    _Part(":", ":"),
    _Part("05", r"\d\d", "second", 0, 59),
)
_ANY_FRACTION = _Part("", r"(?:[.,]\d+)?")
_SIX_DIGITS = _Part(".000000", r"[.,]\d{6}")
_ZONE = _Part("Z07:00", r"Z|[+-]\d\d:\d\d")
_LAYOUTS = {
    RFC3339: (*_TIME_PARTS, _ANY_FRACTION, _ZONE),
    MICRO: (*_TIME_PARTS, _SIX_DIGITS, _ZONE),
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZERO = datetime(1, 1, 1, tzinfo=UTC)
"""Go's zero time, which is written as null."""
_DAYS_IN_400_YEARS = 146_097
_CLOCK = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")


class TimeError(ValueError):
    """The text is not a time; the message is Go's."""


class GoTime(NamedTuple):
    """A point in time in seconds since 1970, and the zone offset that it was written with."""

    seconds: int
    nanoseconds: int
    offset: int


def parse_time(text: str) -> datetime:
    """Return an RFC 3339 time with any fraction; raise ``TimeError``."""
    return _as_datetime(text, read_time(text))


def parse_micro_time(text: str) -> datetime:
    """Return a time with exactly six fraction digits; raise ``TimeError``."""
    return _as_datetime(text, read_time(text, MICRO))


def from_unix(seconds: int, nanos: int = 0) -> datetime:
    """Return the time of a protobuf Timestamp; raise ``TimeError`` outside the years 1 to 9999."""
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError:
        raise TimeError(f"{seconds} seconds since 1970 are out of range") from None


@lru_cache(maxsize=4096)  # nearly all times of a server are the same few seconds
def read_time(text: str, layout: str = RFC3339) -> GoTime:
    """Return a time to the nanosecond, of any year; raise ``TimeError``."""
    found = _read(text, layout, _LAYOUTS[layout])
    hour, minute, second = (int(found[part]) for part in ("15", "04", "05"))
    fraction = (found.get("") or found.get(".000000", ""))[1:10]
    offset = _offset(text, found["Z07:00"])
    seconds = _day(text, found) * 86400 + hour * 3600 + minute * 60 + second - offset
    return GoTime(seconds, int(fraction.ljust(9, "0")), offset)


def read_date(text: str) -> GoTime:
    """Return ``2006-01-02`` as the start of that day in UTC; raise ``TimeError``."""
    found = _read(text, "2006-01-02", _DATE_PARTS)
    return GoTime(_day(text, found) * 86400, 0, 0)


def is_date(text: str) -> bool:
    """Whether the text is a valid ``format: date``: ``2006-01-02``, a day that exists."""
    try:
        read_date(text)
    except TimeError:
        return False
    return True


def is_date_time(text: str) -> bool:
    """Whether the text is a valid ``format: date-time``: RFC 3339, any case, no leap seconds."""
    day, *rest = text.lower().split("t")
    found = _CLOCK.fullmatch(rest[0]) if rest and is_date(day) else None
    return found is not None and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def _read(text: str, layout: str, parts: tuple[_Part, ...]) -> dict[str, str]:
    """Return the text of each part, by the name of the part."""
    rest, found = text, {}
    for part in parts:
        match = re.match(part.form, rest, re.ASCII)
        if match is None:
            raise TimeError(
                f'parsing time {quote(text)} as "{layout}": cannot parse {quote(rest)} as "{part.name}"'
            )
        if part.label and not part.lowest <= int(match.group()) <= part.highest:
            raise _out_of_range(text, part.label)
        found[part.name] = match.group()
        rest = rest[match.end() :]
    if rest:
        raise TimeError(f"parsing time {quote(text)}: extra text: {quote(rest)}")
    return found


def _day(text: str, found: dict[str, str]) -> int:
    """Return the number of days since 1970."""
    year, month, day = (int(found[part]) for part in ("2006", "01", "02"))
    # Go has a year 0, a leap year like 400; Python does not.
    if not 1 <= day <= monthrange(year or 400, month)[1]:
        raise _out_of_range(text, "day")
    ordinal = date(year or 400, month, day).toordinal() - (0 if year else _DAYS_IN_400_YEARS)
    return ordinal - _EPOCH.toordinal()


def _offset(text: str, zone: str) -> int:
    if zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    for label, value, highest in (("hour", hours, 24), ("minute", minutes, 60)):
        if value > highest:
            raise _out_of_range(text, f"time zone offset {label}")
    return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)


def _as_datetime(text: str, moment: GoTime) -> datetime:
    try:
        return from_unix(moment.seconds, moment.nanoseconds)
    except TimeError:
        raise _out_of_range(text, "day") from None


def _out_of_range(text: str, label: str) -> TimeError:
    return TimeError(f"parsing time {quote(text)}: {label} out of range")
