"""When the next pass is due: the earliest time that outcome, options or a failure ask for."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.fsm.engine import Outcome
from myrmidon.fsm.machine.next_pass import Schedule
from myrmidon.runtime.queue.queue import Urgency
from myrmidon.runtime.queue.requeueing import REQUEUE_SECONDS_MIN, Requeue, requeue_of

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
SECONDS = st.none() | st.floats(0, 1e6)


@given(
    after=SECONDS,
    again=st.none() | st.floats(-1e6, 1e6),
    retry=SECONDS,
    resync=st.none() | st.floats(1, 1e6),
)
def test_no_pass_comes_later_than_the_earliest_that_was_asked_for(
    after: float | None, again: float | None, retry: float | None, resync: float | None
) -> None:
    """Nor earlier, apart from the shortest delay; only a settled object waits for its resync."""
    outcome = Outcome(
        after=None if after is None else timedelta(seconds=after),
        again=None if again is None else Schedule(NOW + timedelta(seconds=again), "a"),
    )
    found = requeue_of(outcome, retry=retry, resync=resync, now=lambda: NOW)
    unsettled = after is not None or retry is not None
    asked = [one for one in (after, again, retry, None if unsettled else resync) if one is not None]
    if not asked:
        assert found is None
        return
    assert found is not None
    assert found.delay == pytest.approx(max(min(asked), REQUEUE_SECONDS_MIN), abs=1e-5)
    assert (found.urgency is Urgency.BACKGROUND) == (found.relation == "resync")
    if found.relation == "resync":
        assert not unsettled
    if found.relation == "schedule":
        assert again is not None


def test_a_schedule_beside_a_resync() -> None:
    """The earlier one is queued; the pass that it causes asks for the other one again."""
    soon = Outcome(ended=True, again=Schedule(NOW + timedelta(hours=1), "a"))
    late = Outcome(ended=True, again=Schedule(NOW + timedelta(days=9), "a"))

    assert requeue_of(soon, retry=None, resync=36_000, now=lambda: NOW) == Requeue("schedule", 3600)
    assert requeue_of(late, retry=None, resync=36_000, now=lambda: NOW) == Requeue(
        "resync", 36_000, Urgency.BACKGROUND
    )
    assert requeue_of(late, retry=None, resync=None, now=lambda: NOW) == Requeue(
        "schedule", 9 * 86_400
    )
