"""``Done(again=...)`` from end to end: Ready, no writes, on time, across restarts (C10, A2)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon import Context, Done, Failed, ManagerOptions, OutputSet, Result, Wait
from myrmidon.testing import Harness
from myrmidon.testing.harness.clock import EPOCH
from tests.runtime.things import FinalThings, Thing, Things, config_map, thing

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


class Ticking:
    """A state that applies a child, records when it ran, and asks for the next full ``period``."""

    def __init__(self, period: timedelta = HOUR, result: Any = None) -> None:
        self.period, self.result = period, result
        self.at: list[timedelta] = []

    def __call__(self, it: Thing, out: OutputSet, ctx: Context) -> Result:
        """Run."""
        self.at.append(ctx.now - EPOCH)
        out.apply(config_map(f"{it.name}-child"))
        passed = (ctx.now - EPOCH) // self.period
        return self.result or Done(again=EPOCH + (passed + 1) * self.period)


def test_c10_the_object_is_ready_and_gets_its_pass_on_time() -> None:
    """Condition and Ready are True; the passes are on the hour, and none of them writes."""
    ticking = Ticking()
    with Harness(Things(ticking)) as cluster:
        cluster.advance(7 * MINUTE)
        cluster.apply(thing())
        cluster.settle()
        assert cluster.ready(Thing, "it")
        conditions = cluster.require(Thing, "it").raw["status"]["conditions"]
        assert {one["type"]: one["reason"] for one in conditions} == {
            "First": "Done",
            "Second": "Done",
            "Ready": "Ready",
        }
        assert cluster.writes_during(DAY) == []
        cluster.at_rest()

    assert ticking.at[0] == 7 * MINUTE
    assert ticking.at[1:25] == [hour * HOUR for hour in range(1, 25)]


def test_settling_does_not_go_on_to_the_schedule_unless_asked() -> None:
    """``settle`` ends at once; ``settle(until=...)`` and ``advance`` go on."""
    ticking = Ticking()
    with Harness(Things(ticking)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert cluster.clock.now() < EPOCH + MINUTE
        cluster.settle(until=datetime(2026, 1, 1, 2, 30, tzinfo=UTC))
        assert ticking.at == [timedelta(0), HOUR, 2 * HOUR]
        cluster.advance(HOUR)
        assert len(ticking.at) == 4


@settings(max_examples=25, deadline=None)
@given(micros=st.integers(100_000, 10**11), began=st.integers(0, 10**7))
def test_a_pass_is_never_before_its_time_nor_noticeably_after(micros: int, began: int) -> None:
    """For any fraction of a second."""
    ticking = Ticking(timedelta(microseconds=micros))
    with Harness(Things(ticking, sync_period=None)) as cluster:
        cluster.advance(timedelta(microseconds=began))
        cluster.apply(thing())
        cluster.settle()
        first = ticking.at[0]
        wanted = (first // ticking.period + 1) * ticking.period
        cluster.advance(max(wanted - first, timedelta(microseconds=100_000)))

    assert len(ticking.at) == 2
    # A time closer than the shortest requeue delay is reached that much later.
    assert timedelta(0) <= ticking.at[1] - wanted <= timedelta(microseconds=100_001)
    if wanted - first >= timedelta(microseconds=100_000):
        assert ticking.at[1] == wanted


@pytest.mark.parametrize("period", [timedelta(hours=10), None], ids=["resync", "never"])
def test_resyncs_and_restarts_do_not_move_a_far_schedule(period: timedelta | None) -> None:
    """Every pass computes it again, so the pass on the day itself is exact."""
    ticking = Ticking(3 * DAY)
    with Harness(Things(ticking, sync_period=period)) as cluster:
        cluster.advance(MINUTE)
        cluster.apply(thing())
        cluster.settle()
        cluster.advance(DAY)
        cluster.restart()
        cluster.advance(DAY)
        before = len(ticking.at)
        assert before == (2 if period is None else before)
        cluster.settle(until=EPOCH + 3 * DAY)
        writes = cluster.writes

    assert 3 * DAY in ticking.at
    assert len(writes) == 2


def test_the_earliest_schedule_wins_and_a_retry_may_come_sooner() -> None:
    """Two states ask, then the second fails: the retries happen, and so does the schedule."""
    first, second = Ticking(HOUR), Ticking(10 * MINUTE)
    with Harness(Things(first, second)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.advance(HOUR)
        assert first.at == [10 * MINUTE * count for count in range(7)]

        second.result = Failed("Broken", "for good", retry=False)
        cluster.advance(HOUR)
        assert first.at[7:] == [HOUR + 10 * MINUTE, 2 * HOUR], "the first state still has its time"

        second.result = Wait("Slow", after=20 * MINUTE)
        cluster.advance(HOUR)
        assert first.at[9:] == [3 * HOUR]
        cluster.advance(HOUR)
        assert first.at[10:] == [3 * HOUR + 20 * MINUTE, 3 * HOUR + 40 * MINUTE, 4 * HOUR]


def test_a_time_in_the_past_does_not_turn_into_a_busy_loop() -> None:
    """A pass follows at once, and at most ten in a second."""
    ticking = Ticking(result=Done(again=EPOCH - DAY))
    with Harness(Things(ticking)) as cluster:
        cluster.apply(thing())
        cluster.advance(timedelta(seconds=10))
        assert cluster.ready(Thing, "it")

    assert 90 <= len(ticking.at) <= 102


def test_a_schedule_in_a_finalizer_state_is_reported_in_the_condition() -> None:
    """The object stays, and Ready says why."""
    with Harness(FinalThings(last=lambda *_: Done(again=HOUR))) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.delete(Thing, "it")
        cluster.settle()
        last = cluster.condition(Thing, "it", "Last")

    assert last is not None
    assert (last.status, last.reason) == ("False", "ScheduleWhileDeleting")


def test_the_snapshot_shows_the_schedule_and_the_state_that_asked() -> None:
    """Ready, with a time and the state's name; a Wait has only the time."""
    ticking = Ticking()
    with Harness(Things(ticking), options=ManagerOptions(seed=0, trace=True)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        (one,) = cluster.manager.snapshot().objects
        assert (one.phase, one.waiting) == ("ready", None)
        assert (one.again_at, one.again_for) == (EPOCH + HOUR, "first")
        cluster.settle(until=EPOCH + HOUR)
        (one,) = cluster.manager.snapshot().objects
        assert one.causes == ("schedule generic",)
        ticking.result = Wait("Slow", after=MINUTE)
        cluster.settle(until=EPOCH + 2 * HOUR - MINUTE)
        cluster.advance(MINUTE)
        (one,) = cluster.manager.snapshot().objects
        assert (one.phase, one.again_for) == ("waiting", "")
