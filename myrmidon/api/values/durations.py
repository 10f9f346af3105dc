"""Durations as Go writes them: ``1h30m``, ``1.5s``, ``250ms``."""

import re
from datetime import timedelta
from decimal import Decimal

NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,
    "\u03bcs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
"""The length of each unit; the micro sign and the Greek letter both stand for micro."""

DURATION_PATTERN = r"^-?(0|([0-9]{1,9}(\.[0-9]{1,9})?(ns|us|ms|s|m|h)){1,6})$"
"""The durations that the schema of a custom resource allows: a part of those that Go reads."""

_NUMBER = r"(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)"
_UNIT = "|".join(sorted(NANOSECONDS, key=len, reverse=True))
_DURATION = re.compile(rf"([-+]?)((?:{_NUMBER}(?:{_UNIT}))+|0)")
_PART = re.compile(rf"({_NUMBER})({_UNIT})")
_SCHEMA_DURATION = re.compile(DURATION_PATTERN)


def read_nanoseconds(text: str) -> int | None:
    """Return the length of a duration as Go's ``time.ParseDuration`` reads it; None if it is not one.

    Unlike Go, it does not limit the result to 64 bits.
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        return None
    total = sum(int(Decimal(n) * NANOSECONDS[unit]) for n, unit in _PART.findall(found[2]))
    return -total if found[1] == "-" else total


def parse_duration(text: str) -> timedelta:
    """Read a duration that fits ``DURATION_PATTERN``; raises ``ValueError``.

    A timedelta holds microseconds; nanoseconds are cut off.
    """
    nanoseconds = read_nanoseconds(text) if _SCHEMA_DURATION.fullmatch(text) else None
    if nanoseconds is None:
        raise ValueError(f"{text!r} is not a duration; write it as 1h30m, 10s or 250ms")
    micros = timedelta(microseconds=abs(nanoseconds) // 1000)
    return -micros if nanoseconds < 0 else micros


def print_duration(duration: timedelta) -> str:
    """Write a duration as Go does: ``1h30m0s``, ``1.5s``, ``250ms``."""
    micros = round(duration / timedelta(microseconds=1))
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    if micros == 0:
        return "0s"
    if micros < 1000:
        return f"{sign}{micros}us"
    if micros < 10**6:
        return f"{sign}{_plain(Decimal(micros) / 1000)}ms"
    minutes, rest = divmod(micros, 60 * 10**6)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_plain(Decimal(rest) / 10**6)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    return f"{sign}{minutes}m{seconds}" if minutes else f"{sign}{seconds}"


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}"
