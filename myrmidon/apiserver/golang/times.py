"""Times as Go reads and writes them: RFC 3339, in UTC, to the second or to the microsecond."""

import re
from datetime import UTC, datetime, timedelta, timezone

from myrmidon.apiserver.golang.text import quote

RFC3339 = "2006-01-02T15:04:05Z07:00"
MICRO = "2006-01-02T15:04:05.000000Z07:00"

# What Go calls the parts of its layouts, in order; the text must have each of them.
_PARTS = (
    ("2006", r"\d{4}"),
    ("-", "-"),
    ("01", r"\d\d"),
    ("-", "-"),
    ("02", r"\d\d"),
    ("T", "T"),
    ("15", r"\d\d"),
    (":", ":"),
    ("04", r"\d\d"),
    (":", ":"),
    ("05", r"\d\d"),
)
_ZONE = ("Z07:00", r"Z|[+-]\d\d:\d\d")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FRACTION = re.compile(r"[.,]\d+")


class TimeError(ValueError):
    """A text that is not a time; the message is Go's."""


def parse_time(text: str) -> datetime:
    """Read an RFC 3339 time with any fraction; raises ``TimeError``."""
    return _parse(text, RFC3339, micro=False)


def parse_micro_time(text: str) -> datetime:
    """Read a time with exactly six digits after the point; raises ``TimeError``."""
    return _parse(text, MICRO, micro=True)


def written_time(moment: datetime) -> str:
    """A time as the API writes it, in whole seconds: ``2024-01-01T00:00:00Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def written_micro_time(moment: datetime) -> str:
    """``2024-01-01T00:00:00.000000Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def from_unix(seconds: int, nanos: int = 0) -> datetime:
    """The time of a protobuf Timestamp; raises ``TimeError`` beyond the years 1 to 9999."""
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError:
        raise TimeError(f"{seconds} seconds since 1970 are out of range") from None


def _parse(text: str, layout: str, *, micro: bool) -> datetime:
    rest, found = text, []
    parts = (*_PARTS, (".000000", r"\.\d{6}"), _ZONE) if micro else (*_PARTS, _ZONE)
    for name, pattern in parts:
        if name == "Z07:00" and not micro:
            fraction = _FRACTION.match(rest)
            found.append(fraction.group() if fraction else "")
            rest = rest[len(found[-1]) :]
        match = re.match(pattern, rest, re.ASCII)
        if match is None:
            raise TimeError(
                f'parsing time {quote(text)} as "{layout}": cannot parse {quote(rest)} as "{name}"'
            )
        found.append(match.group())
        rest = rest[match.end() :]
    if rest:
        raise TimeError(f"parsing time {quote(text)}: extra text: {quote(rest)}")
    return _moment(text, found)


def _moment(text: str, found: list[str]) -> datetime:
    year, month, day, hour, minute, second = (int(found[i]) for i in (0, 2, 4, 6, 8, 10))
    micros = int(found[11][1:7].ljust(6, "0")) if found[11] else 0
    zone = found[12]
    offset = timedelta() if zone == "Z" else _offset(zone)
    for name, low, value, high in (("month", 1, month, 12), ("hour", 0, hour, 23)):
        if not low <= value <= high:
            raise TimeError(f"parsing time {quote(text)}: {name} out of range")
    try:
        moment = datetime(year, month, day, hour, minute, second, micros, timezone(offset))
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        part = "minute" if minute > 59 else "second" if second > 59 else "day"
        raise TimeError(f"parsing time {quote(text)}: {part} out of range") from None


def _offset(zone: str) -> timedelta:
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    span = timedelta(hours=min(hours, 23), minutes=minutes)
    return -span if zone[0] == "-" else span
