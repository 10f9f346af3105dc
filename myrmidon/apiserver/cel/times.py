"""Moments and lengths of time in text, to the nanosecond, as Go reads and writes them."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.literals import INT_MAX, INT_MIN
from myrmidon.apiserver.cel.values import Duration, Timestamp
from myrmidon.apiserver.golang.numbers import read_int

SECOND = 10**9
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_SECOND, LAST_SECOND = -62135596800, 253402300799  # years 1 to 9999

_UNITS = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,
    "\u03bcs": 10**3,
    "ms": 10**6,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_NUMBER = r"(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)"
_UNIT = "|".join(sorted(_UNITS, key=len, reverse=True))
_DURATION = re.compile(rf"([-+]?)((?:{_NUMBER}(?:{_UNIT}))+|0)")
_PART = re.compile(rf"({_NUMBER})({_UNIT})")
_LOOSE_PART = re.compile(r"(?<!\d)(\d++)\s*+([A-Za-z\u00b5]+)", re.ASCII)
_MOMENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII
)
_LOCAL = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?()", re.ASCII)
_LOOSE_UNITS = (
    ("ns", "nano"),
    ("us", "\u00b5s", "micro"),
    ("ms", "milli"),
    ("s", "sec"),
    ("m", "min"),
    ("h", "hr", "hour"),
    ("d", "day"),
    ("w", "wk", "week"),
)


def parse_duration(text: str) -> Duration:
    """``1h30m``; ValueError if it is not a duration, or too long."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f'time: invalid duration "{text}"')
    nanos = sum(int(Decimal(n) * _UNITS[unit]) for n, unit in _PART.findall(found.group(2)))
    nanos = -nanos if found.group(1) == "-" else nanos
    if not INT_MIN <= nanos <= INT_MAX:
        raise ValueError(f'time: invalid duration "{text}"')
    return Duration(nanos)


def parse_schema_duration(text: str) -> Duration:
    """What ``format: duration`` allows: also ``2 days``."""
    try:
        return parse_duration(text)
    except ValueError:
        pass
    lengths = [_loose(read_int(count), unit.lower()) for count, unit in _LOOSE_PART.findall(text)]
    known = [length for length in lengths if length is not None]
    if not known:
        raise ValueError(f"unable to parse {text} as duration")
    return Duration(sum(known))


def _loose(count: int, unit: str) -> int | None:
    for names in _LOOSE_UNITS:
        if unit in names or unit.startswith(names[-1]):
            long = {"d": 24 * _UNITS["h"], "w": 7 * 24 * _UNITS["h"]}
            return count * (long | _UNITS)[names[0]]
    return None


def parse_timestamp(text: str) -> Timestamp:
    """RFC 3339; ValueError for what is none."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError(f'parsing time "{text}"')
    return _moment(found)


def parse_date_time(text: str) -> Timestamp:
    """What ``format: date-time`` allows: a zone is not needed."""
    if not text:
        return Timestamp(0)
    found = _MOMENT.fullmatch(text) or _LOCAL.fullmatch(text)
    if found is None:
        raise ValueError(f'parsing time "{text}"')
    return _moment(found)


def parse_date(text: str) -> Timestamp:
    """A day, as its first moment in UTC."""
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise ValueError(f'parsing time "{text}" as "2006-01-02"')
    return _moment_of(datetime.fromisoformat(text).replace(tzinfo=UTC), 0, 0)


def _moment(found: re.Match[str]) -> Timestamp:
    *fields, fraction, zone = found.groups()
    local = datetime(*map(int, fields), tzinfo=UTC)  # type: ignore[misc,arg-type]
    nanos = int(((fraction or "") + "0" * 9)[:9])
    offset = 0
    if zone not in ("Z", ""):
        hours, minutes = int(zone[1:3]), int(zone[4:6])
        if hours > 24 or minutes > 60:
            raise ValueError("time zone offset out of range")
        offset = (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)
    return _moment_of(local, nanos, offset)


def _moment_of(local: datetime, nanos: int, offset: int) -> Timestamp:
    since = local - EPOCH
    seconds = since.days * 86400 + since.seconds - offset
    return Timestamp(seconds * SECOND + nanos, offset)


def checked_timestamp(nanos: int, offset: int) -> Timestamp:
    """The moment, if its year has four digits."""
    if not FIRST_SECOND <= nanos // SECOND <= LAST_SECOND:
        raise CelEvaluationError("timestamp overflow")
    return Timestamp(nanos, offset)


def print_timestamp(moment: Timestamp) -> str:
    """RFC 3339 with as many digits as needed, in the zone it was written in."""
    seconds, nanos = divmod(moment.nanos, SECOND)
    shown = EPOCH + timedelta(seconds=seconds + moment.offset)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    zone = "Z"
    if moment.offset:
        hours, minutes = divmod(abs(moment.offset) // 60, 60)
        zone = f"{'-' if moment.offset < 0 else '+'}{hours:02d}:{minutes:02d}"
    return shown.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0") + fraction + zone


def print_duration(length: Duration) -> str:
    """Seconds, with as many digits as a double has."""
    text = format(Decimal(repr(length.nanos / SECOND)), "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text) + "s"


def moment_in(moment: Timestamp, zone: str = "") -> datetime:
    """The calendar's view of a moment, in UTC or in a named or numbered zone."""
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
