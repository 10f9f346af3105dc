"""What the results of a pass say about the next one: failures, rechecks, schedules, attempts.

A walk runs several states, and in a fork several branches, each of which may ask for another pass.
``Ending`` sums up what they asked for; a walk begins with ``NOTHING_ASKED`` and passes each result
that says more to one of the functions below, which return a new ``Ending``:

- a ``Wait`` or a recheck asks for a pass after a time, the shortest of which wins, or with backoff
  (``after_wait``);
- a ``Failed`` is kept, the first as the failure of the pass and the others beside it
  (``after_failure``);
- ``Done(again=...)`` asks for a pass at a time, the earliest of which wins, also over a later
  failure (``with_schedule``).
"""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from myrmidon.fsm.machine.results import Failed, Wait


class Schedule(NamedTuple):
    """When a state that holds wants the next pass (``Done(again=...)``), and which state."""

    at: datetime
    state: str


class Attempt(NamedTuple):
    """A failed attempt: its number in a row, and the seconds until the next; None for no other."""

    number: int
    delay: float | None
    said: str = ""  # why retrying was given up, and how to go on


class Ending(NamedTuple):
    """How a walk has ended so far, and when it asked to run again.  The end of an ``Outcome``."""

    failure: Failed | None = None
    after: timedelta | None = None
    backoff: bool = False
    again: Schedule | None = None
    others: tuple[Failed, ...] = ()


NOTHING_ASKED = Ending()


def after_wait(ending: Ending, wait: Wait) -> Ending:
    """Return the ending with the pass that a Wait or a recheck asks for; the shortest delay wins."""
    if wait.after is None:
        return ending._replace(backoff=True)
    if ending.after is None or wait.after < ending.after:
        return ending._replace(after=wait.after)
    return ending


def after_failure(ending: Ending, failed: Failed, *, in_branch: bool) -> Ending:
    """Return the ending with a failure, the first of which counts as that of the pass.

    A failure that is not retried drops the rechecks that earlier states asked for, because the pass
    would fail here again; unless it is in a branch of a fork, whose other branches go on.
    """
    if not failed.retry and not in_branch:
        ending = ending._replace(after=None, backoff=False)
    if failed.retry:
        ending = ending._replace(backoff=True)
    if ending.failure is None:
        return ending._replace(failure=failed)
    return ending._replace(others=(*ending.others, failed))


def with_schedule(ending: Ending, again: timedelta | datetime, now: datetime, state: str) -> Ending:
    """Return the ending with the time that a state asks for; the earliest wins."""
    asked = _scheduled(again, now, state)
    if ending.again is None or asked.at < ending.again.at:
        return ending._replace(again=asked)
    return ending


def _scheduled(again: timedelta | datetime, now: datetime, state: str) -> Schedule:
    """Return the schedule that a state asks for; a delay too long for a datetime is the last one."""
    if isinstance(again, datetime):
        return Schedule(again, state)
    try:
        return Schedule(now + again, state)
    except OverflowError:
        return Schedule(datetime.max.replace(tzinfo=UTC), state)
