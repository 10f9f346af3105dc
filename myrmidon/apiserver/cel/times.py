"""Timestamps and durations of CEL, with nanoseconds."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.values import Duration, Timestamp
from myrmidon.apiserver.golang import durations, times
from myrmidon.apiserver.golang.numbers import read_int

SECOND = 10**9
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_SECOND, LAST_SECOND = -62135596800, 253402300799  # years 1 to 9999


def parse_duration(text: str) -> Duration:
    """Parse a duration such as ``1h30m``; raise ValueError if it is invalid or too long."""
    return Duration(durations.parse_duration(text))


def parse_schema_duration(text: str) -> Duration:
    """Parse a string of ``format: duration``, which also allows ``2 days``."""
    return Duration(durations.parse_loose_duration(text))


def parse_timestamp(text: str) -> Timestamp:
    """Parse an RFC 3339 timestamp; raise ValueError if it is invalid."""
    return _timestamp(times.read_time(text))


def parse_date_time(text: str) -> Timestamp:
    """Parse a string of ``format: date-time``, which needs no time zone."""
    if not text:
        return Timestamp(0)
    try:
        return parse_timestamp(text)
    except ValueError:
        return parse_timestamp(f"{text}Z")


def parse_date(text: str) -> Timestamp:
    """Parse a date, as its midnight in UTC."""
    return _timestamp(times.read_date(text))


def _timestamp(moment: times.GoTime) -> Timestamp:
    return Timestamp(moment.seconds * SECOND + moment.nanoseconds, moment.offset)


def checked_timestamp(nanos: int, offset: int) -> Timestamp:
    """Return the timestamp; raise an overflow if its year is not between 1 and 9999."""
    if not FIRST_SECOND <= nanos // SECOND <= LAST_SECOND:
        raise CelEvaluationError("timestamp overflow")
    return Timestamp(nanos, offset)


def print_timestamp(moment: Timestamp) -> str:
    """Return the timestamp in RFC 3339, with its original offset and no trailing zeros."""
    seconds, nanos = divmod(moment.nanos, SECOND)
    shown = EPOCH + timedelta(seconds=seconds + moment.offset)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    zone = "Z"
    if moment.offset:
        hours, minutes = divmod(abs(moment.offset) // 60, 60)
        zone = f"{'-' if moment.offset < 0 else '+'}{hours:02d}:{minutes:02d}"
    return shown.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0") + fraction + zone


def print_duration(length: Duration) -> str:
    """Return the duration in seconds, with the precision of a double."""
    text = format(Decimal(repr(length.nanos / SECOND)), "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text) + "s"


def moment_in(moment: Timestamp, zone: str = "") -> datetime:
    """Return the date and time of a timestamp, in UTC or in a zone given by name or offset."""
    whole = EPOCH + timedelta(seconds=moment.nanos // SECOND)
    return whole.astimezone(_zone(zone)) if zone else whole


def _zone(name: str) -> tzinfo:
    hours, colon, minutes = name.partition(":")
    if not colon:
        return _named_zone(name)
    try:
        ahead = read_int(hours) * 60
        ahead += -read_int(minutes) if name[0] == "-" else read_int(minutes)
    except ValueError:
        bad = hours if not re.fullmatch(r"[+-]?[0-9]+", hours) else minutes
        message = f'strconv.Atoi: parsing "{bad}": invalid syntax'
        raise CelEvaluationError(message) from None
    return timezone(timedelta(minutes=ahead))


def _named_zone(name: str) -> tzinfo:
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise CelEvaluationError(f"unknown time zone {name}") from None
