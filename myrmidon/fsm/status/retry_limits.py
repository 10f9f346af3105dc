"""Retry limits: how many failures in a row, or for how long, until retrying is given up.

A ``Series`` is what is known about the failures of one object: how many there were in a row, since
when, and for which revision (generation and reconcile token).  A success ends it; a new revision
begins another.  The functions here only decide:

- ``continued``: the series after one more failure;
- ``is_exhausted``: whether the series has reached ``max_attempts`` or ``retry_for``;
- ``given_up``: the outcome of a pass whose failure is not retried any more;
- ``attempt_fields``: what the status says about it.

A failure that was given up is like ``Failed(retry=False)``: the reason stays, the message says that
no further attempt follows and how to cause one.  Other events (a change of a child, a resync) still
cause passes; if one of them succeeds, the series is over.

The series are memory of the process and are lost with it.  After a restart, every object gets a
pass anyway, and an object that still fails is retried up to the limit again.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.api.typed.status import ATTEMPTS, NEXT_ATTEMPT
from myrmidon.api.values.timestamps import write_time
from myrmidon.fsm.engine import Outcome
from myrmidon.fsm.machine.next_pass import Attempt
from myrmidon.fsm.machine.results import Failed
from myrmidon.fsm.metadata.reconcile_request import Revision


class RetryLimits(NamedTuple):
    """When to give up: after so many attempts, after so long; None for never."""

    max_attempts: int | None = None
    retry_for: timedelta | None = None


class Series(NamedTuple):
    """The failures in a row of one object: how many, since when (monotonic), of which revision."""

    failures: int
    since: float
    revision: Revision
    is_over: bool = False  # retrying was given up; the number stays as it was then


def continued(series: Series | None, revision: Revision, now: float) -> Series:
    """Return the series after one more failure; a new revision begins a new one."""
    if series is None or series.revision != revision:
        return Series(1, now, revision)
    return series if series.is_over else series._replace(failures=series.failures + 1)


def is_exhausted(series: Series, limits: RetryLimits, now: float) -> bool:
    """Whether no further attempt may follow the last failure of the series."""
    if series.is_over:
        return True
    if limits.max_attempts is not None and series.failures >= limits.max_attempts:
        return True
    return limits.retry_for is not None and now - series.since >= limits.retry_for.total_seconds()


def reason_to_give_up(series: Series, limits: RetryLimits) -> str:
    """Return after what the retries were given up.

    The text contains the limit and not the count, so it is the same after every later pass.
    """
    if limits.max_attempts is not None and series.failures >= limits.max_attempts:
        return f"gave up after {limits.max_attempts} attempts"
    return f"gave up after {limits.retry_for}"


def given_up(outcome: Outcome, said: str) -> Outcome:
    """Return the outcome without further retries; ``said`` is added to the messages of failures."""
    visits = [
        visit._replace(value=visit.value._replace(message=f"{visit.value.message}; {said}"))
        if visit.failed
        else visit
        for visit in outcome.visits
    ]
    first, *others = (Failed(one.reason, one.error, retry=False) for one in outcome.failures)
    forked = any(visit.branch for visit in outcome.visits)  # another branch may ask for a pass
    return outcome._replace(
        visits=tuple(visits),
        failure=first,
        others=tuple(others),
        backoff=False,
        after=outcome.after if forked else None,
    )


def attempt_fields(attempt: Attempt | None, now: datetime, after: timedelta | None) -> Json:
    """Return ``attempts`` and ``nextAttempt`` for the status; None removes a field.

    ``after`` is a pass that the outcome asks for in any case, if it comes sooner.
    """
    if attempt is None:
        return {ATTEMPTS: None, NEXT_ATTEMPT: None}
    if attempt.delay is None:
        return {ATTEMPTS: attempt.number, NEXT_ATTEMPT: None}
    delay = timedelta(seconds=attempt.delay)
    sooner = delay if after is None else min(delay, after)
    return {ATTEMPTS: attempt.number, NEXT_ATTEMPT: write_time(now + sooner)}
