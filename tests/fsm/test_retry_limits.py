"""Retry limits: how long a failing object is retried, and what is reported afterwards."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects.conditions import ConditionValue
from myrmidon.errors import DefinitionError
from myrmidon.fsm import ControllerOptions, Failed
from myrmidon.fsm.engine import Outcome, Visit
from myrmidon.fsm.machine.next_pass import Attempt
from myrmidon.fsm.status.retry_limits import (
    RetryLimits,
    Series,
    attempt_fields,
    continued,
    given_up,
    is_exhausted,
    reason_to_give_up,
)
from tests.fsm.test_engine import LINE
from tests.fsm.things import define, marked

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
LIMITS = st.builds(
    RetryLimits,
    st.none() | st.integers(1, 5),
    st.none() | st.builds(timedelta, seconds=st.integers(1, 60)),
)


@pytest.mark.law("G3")
@given(limits=LIMITS, gaps=st.lists(st.tuples(st.floats(0, 20), st.integers(0, 9)), max_size=12))
def test_a_series_is_given_up_exactly_at_its_limit(limits: RetryLimits, gaps: Any) -> None:
    """Against a model that counts failures since the revision began.

    Only a new revision resets it.
    """
    series: Series | None = None
    now, revision, count, since, over = 0.0, 0, 0, 0.0, False
    for gap, news in gaps:
        now += gap
        if news == 0:
            revision += 1
        fresh = series is None or news == 0
        count, since = (1, now) if fresh else (count + (not over), since)
        over = False if fresh else over
        series = continued(series, (revision, ""), now)
        assert (series.failures, series.since) == (count, since)
        late = limits.retry_for is not None and now - since >= limits.retry_for.total_seconds()
        many = limits.max_attempts is not None and count >= limits.max_attempts
        over = over or late or many
        assert is_exhausted(series, limits, now) == over
        if over:
            series = series._replace(is_over=True)


def test_what_is_said_when_it_is_over() -> None:
    """The message names the limit and not the count, so that it stays the same."""
    both = RetryLimits(3, 10 * MINUTE)
    assert reason_to_give_up(Series(3, 0, (1, "")), both) == "gave up after 3 attempts"
    assert reason_to_give_up(Series(2, 0, (1, "")), both) == "gave up after 0:10:00"


@pytest.mark.law("G3")
def test_an_outcome_that_is_given_up_is_terminal() -> None:
    """Its reason stays, failing states report it, and only other branches get another pass."""
    failed = Failed("NoDisk", "full")
    bad = Visit(LINE.states["a"], ConditionValue("False", "NoDisk", "full"), failed=True)
    good = Visit(LINE.states["b"], ConditionValue("True", "Done"))
    outcome = Outcome((good, bad), failure=failed, after=MINUTE, backoff=True, others=(failed,))
    after = given_up(outcome, "gave up")

    assert after.is_terminal
    assert after.failure == Failed("NoDisk", "full", retry=False)
    assert after.others == (Failed("NoDisk", "full", retry=False),)
    assert after.visits == (good, bad._replace(value=bad.value._replace(message="full; gave up")))
    forked = outcome._replace(visits=(good, bad._replace(branch="cache")))
    assert given_up(forked, "gave up").after == MINUTE


@pytest.mark.parametrize(
    ("attempt", "after", "fields"),
    [
        (None, None, (None, None)),
        (Attempt(2, 30), None, (2, "2026-01-01T12:00:30Z")),
        (Attempt(2, 30), timedelta(seconds=5), (2, "2026-01-01T12:00:05Z")),
        (Attempt(5, None, "gave up"), None, (5, None)),
    ],
)
def test_what_the_status_says(attempt: Any, after: Any, fields: Any) -> None:
    """It has the number and the time of the next attempt; None removes a field."""
    made = attempt_fields(attempt, NOW, after)
    assert (made["attempts"], made["nextAttempt"]) == fields


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_attempts": 0}, "max_attempts is 0"),
        ({"passes_per_minute": 0}, "passes_per_minute is 0"),
        ({"retries_burst": 0}, "retries_burst is 0"),
        ({"retries_per_second": 0}, "retries_per_second is 0"),
        ({"retry_for": timedelta(0)}, "retry_for is 0:00:00"),
    ],
)
def test_d2_limits_that_cannot_be_meant(options: Any, said: str) -> None:
    """Limits that make no sense are refused with a fix."""
    with pytest.raises(DefinitionError, match="fix: use") as found:
        ControllerOptions(**options)
    assert said in str(found.value)


def test_d2_a_status_with_a_field_of_its_own_called_attempts() -> None:
    """It is refused, because the framework writes a field of that name."""
    from myrmidon.api import Model, Resource, Status  # noqa: PLC0415 - only here
    from myrmidon.fsm import Controller  # noqa: PLC0415

    class CountedStatus(Status):
        next_attempt: str | None = None

    class Counted(Resource[Model, CountedStatus], group="example.com", version="v1"):
        """A status with its own ``attempts``."""

    with pytest.raises(DefinitionError) as found:

        class Counts(Controller[Counted]):
            options = ControllerOptions(report_attempts=True)
            one = marked(initial=True)

    assert str(found.value) == (
        "CountedStatus.next_attempt is a field that ControllerOptions(report_attempts=True) of "
        "Counts writes.\n  fix: rename the field, or switch report_attempts off"
    )
    define(one=marked(initial=True), options=ControllerOptions(report_attempts=True))
