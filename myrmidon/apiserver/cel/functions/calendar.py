"""Functions for the parts of timestamps and durations.  Months and days count from zero."""

from collections.abc import Callable
from datetime import datetime

from myrmidon.apiserver.cel.declarations import Overload, method
from myrmidon.apiserver.cel.times import SECOND, moment_in
from myrmidon.apiserver.cel.values import Duration, Timestamp

_PARTS: dict[str, tuple[str, Callable[[datetime], int]]] = {
    "getDate": ("day_of_month_1_based", lambda t: t.day),
    "getDayOfMonth": ("day_of_month", lambda t: t.day - 1),
    "getDayOfWeek": ("day_of_week", lambda t: t.isoweekday() % 7),
    "getDayOfYear": ("day_of_year", lambda t: t.timetuple().tm_yday - 1),
    "getFullYear": ("year", lambda t: t.year),
    "getHours": ("hours", lambda t: t.hour),
    "getMinutes": ("minutes", lambda t: t.minute),
    "getMonth": ("month", lambda t: t.month - 1),
    "getSeconds": ("seconds", lambda t: t.second),
}
_LENGTHS = (
    ("getHours", "hours", 3600 * SECOND),
    ("getMinutes", "minutes", 60 * SECOND),
    ("getSeconds", "seconds", SECOND),
)


def _whole(length: Duration, unit: int) -> int:
    count = abs(length.nanos) // unit
    return -count if length.nanos < 0 else count


def _milliseconds(moment: Timestamp, zone: str = "UTC") -> int:
    moment_in(moment, zone)  # raises for an unknown zone
    return moment.nanos % SECOND // 10**6


def _parts() -> list[Overload]:
    made = []
    for name, (word, part) in _PARTS.items():

        def get(moment: Timestamp, zone: str = "", part: Callable[[datetime], int] = part) -> int:
            return part(moment_in(moment, zone))

        with_zone = f"timestamp_to_{word}_{'tz' if word == 'seconds' else 'with_tz'}"
        made.append(method(f"timestamp_to_{word}", f"{name}(timestamp) -> int", get))
        made.append(method(with_zone, f"{name}(timestamp, string) -> int", get))
    return made


def _lengths() -> list[Overload]:
    return [
        method(
            f"duration_to_{word}",
            f"{name}(duration) -> int",
            lambda length, unit=unit: _whole(length, unit),
        )
        for name, word, unit in _LENGTHS
    ]


OVERLOADS = (
    *_parts(),
    *_lengths(),
    method("timestamp_to_milliseconds", "getMilliseconds(timestamp) -> int", _milliseconds),
    method(
        "timestamp_to_milliseconds_with_tz",
        "getMilliseconds(timestamp, string) -> int",
        _milliseconds,
    ),
    method(
        "duration_to_milliseconds",
        "getMilliseconds(duration) -> int",
        lambda length: _whole(length, 10**6),
    ),
)
