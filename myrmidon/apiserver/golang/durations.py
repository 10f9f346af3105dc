"""Parse durations as the API server does: Go's syntax, and the loose ``format: duration``."""

import re

from myrmidon.api.values.durations import NANOSECONDS, read_nanoseconds
from myrmidon.apiserver.golang.numbers import read_int

_INT64_MAX = 2**63 - 1
_NUMBER = re.compile(r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)")
_LOOSE_PART = re.compile(r"(?<!\d)(\d++)\s*+([A-Za-z\u00b5]+)", re.ASCII)
# The last name of each group is a prefix (as in `minutes`), the others must match exactly.
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
_LENGTHS = {**NANOSECONDS, "d": 24 * NANOSECONDS["h"], "w": 7 * 24 * NANOSECONDS["h"]}


def parse_duration(text: str) -> int:
    """Return the nanoseconds of ``1h30m``; raise ``ValueError``, also beyond 64 bits."""
    nanoseconds = read_nanoseconds(text)
    if nanoseconds is None and _NUMBER.fullmatch(text):
        raise ValueError(f'time: missing unit in duration "{text}"')
    if nanoseconds is None or not -_INT64_MAX <= nanoseconds <= _INT64_MAX:
        raise ValueError(f'time: invalid duration "{text}"')
    return nanoseconds


def parse_loose_duration(text: str) -> int:
    """Return the nanoseconds of a ``format: duration``, which also allows ``2 days``."""
    try:
        return parse_duration(text)
    except ValueError:
        pass
    lengths = [_loose(read_int(count), unit.lower()) for count, unit in _LOOSE_PART.findall(text)]
    known = [length for length in lengths if length is not None]
    if not known:
        raise ValueError(f"unable to parse {text} as duration")
    return sum(known)


def is_loose_duration(text: str) -> bool:
    """Whether the text is a valid ``format: duration``."""
    try:
        parse_loose_duration(text)
    except ValueError:
        return False
    return True


def _loose(count: int, unit: str) -> int | None:
    for names in _LOOSE_UNITS:
        if unit in names or unit.startswith(names[-1]):
            return count * _LENGTHS[names[0]]
    return None
