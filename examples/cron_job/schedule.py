"""Cron expressions: when a schedule is due, in UTC.

    minute (0-59)  hour (0-23)  day of the month (1-31)  month (1-12, JAN-DEC)  weekday (0-7, SUN-SAT)

A field is ``*``, a number, a range ``1-5``, any of these with a step (``*/15``, ``10-50/20``; ``7/2``
runs to the end), or a list of them.  Weekdays 0 and 7 are both Sunday.  If neither the day of the
month nor the weekday is ``*``, a day matches when one of the two does; otherwise both must match.
``@hourly``, ``@daily``, ``@weekly``, ``@monthly`` and ``@yearly`` are abbreviations.  These are the
rules of the CronJobs of Kubernetes.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

_SHORT = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DAYS_IN_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)
_DAYS_MAX = 366 * 9  # two 29ths of February are up to eight years apart


@dataclass(frozen=True, slots=True)
class Schedule:
    """A parsed cron expression."""

    times: tuple[time, ...]
    """The minutes of a day at which it is due, in order."""
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    """A day matches by its number or by its weekday, and not only by both."""

    def after(self, moment: datetime) -> datetime:
        """Return the first time that is later than the moment."""
        for day in self._days_from(moment.date(), _DAY):
            first = bisect_right(self.times, moment.time()) if day == moment.date() else 0
            if first < len(self.times):
                return datetime.combine(day, self.times[first], UTC)
        raise AssertionError("parse refuses a schedule that is never due")

    def latest(self, moment: datetime) -> datetime:
        """Return the last time that is not later than the moment."""
        before = moment + _MINUTE.resolution
        for day in self._days_from(before.date(), -_DAY):
            end = len(self.times)
            if day == before.date():
                end = bisect_left(self.times, before.time())
            if end:
                return datetime.combine(day, self.times[end - 1], UTC)
        raise AssertionError("parse refuses a schedule that is never due")

    def _days_from(self, day: date, step: timedelta) -> Iterator[date]:
        """Yield the days that match, beginning with this one."""
        for _ in range(_DAYS_MAX):
            if day.month in self.months and self._is_day(day):
                yield day
            day += step

    def _is_day(self, day: date) -> bool:
        by_number, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return by_number or by_weekday if self.either_day else by_number and by_weekday


def parse(text: str) -> Schedule:
    """Return the schedule of a cron expression; raise ValueError if it is not one."""
    fields = _SHORT.get(text.strip().lower(), text).split()
    if len(fields) != 5:
        raise ValueError(f"{text!r} has {len(fields)} fields; a schedule has five")
    minutes = _field(fields[0], 0, 59)
    hours = _field(fields[1], 0, 23)
    days = _field(fields[2], 1, 31)
    months = _field(fields[3], 1, 12, _MONTHS)
    weekdays = frozenset(day % 7 for day in _field(fields[4], 0, 7, _WEEKDAYS))
    either_day = "*" not in (fields[2], fields[4])
    if not either_day and all(min(days) > _DAYS_IN_MONTH[month - 1] for month in months):
        raise ValueError(f"{text!r} is never due: these months have no such day")
    times = tuple(time(hour, minute) for hour in sorted(hours) for minute in sorted(minutes))
    return Schedule(times, days, months, weekdays, either_day)


def _field(text: str, low: int, high: int, names: tuple[str, ...] = ()) -> frozenset[int]:
    return frozenset(number for part in text.split(",") for number in _part(part, low, high, names))


def _part(text: str, low: int, high: int, names: tuple[str, ...]) -> range:
    """Return the numbers of one entry of a list: ``*``, ``3``, ``1-5``, each with or without a step."""
    span, has_step, step = text.partition("/")
    first, is_range, last = span.partition("-")
    try:
        start = low if span == "*" else _number(first, low, names)
        end = high if span == "*" or (has_step and not is_range) else start
        end = _number(last, low, names) if is_range else end
        every = int(step) if has_step else 1
    except ValueError:
        raise ValueError(
            f"{text!r} is not a number, a range or *, with or without a step"
        ) from None
    if not low <= start <= end <= high or every < 1:
        raise ValueError(f"{text!r} is not between {low} and {high}, or has its ends or step wrong")
    return range(start, end + 1, every)


def _number(text: str, low: int, names: tuple[str, ...]) -> int:
    """Return a number, or the number of a name: the first name has the lowest number."""
    if text.lower() in names:
        return names.index(text.lower()) + low
    if not (text.isascii() and text.isdigit()):
        raise ValueError(text)
    return int(text)
