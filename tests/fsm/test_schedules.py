"""``Done(again=...)``: a state that holds asks for another pass at a time (C10)."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects.conditions import ConditionValue
from myrmidon.errors import FinalizerScheduleError, ProgrammingError
from myrmidon.fsm import Done, Failed, Wait, Walk
from myrmidon.fsm.engine import (
    Acted,
    Enter,
    Finish,
    Outcome,
    ReleaseFinalizer,
    unfinished,
)
from myrmidon.fsm.machine.next_pass import Schedule
from myrmidon.fsm.machine.states import State
from tests.fsm.graphs import Drawn, drawings, results
from tests.fsm.things import graph_of

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
HOUR, YEAR = timedelta(hours=1), timedelta(days=365)
EPOCH = NOW.replace(tzinfo=None)  # hypothesis adds the time zone
LINE = graph_of(
    [State("a", "A", ("b",), initial=True), State("b", "B"), State("z", "Z", finalizer=True)]
)
AGAIN = st.timedeltas(timedelta(0), timedelta(days=400)) | st.datetimes(
    EPOCH - 6 * YEAR, EPOCH + 4 * YEAR, timezones=st.just(UTC)
)


def outcome_of(walk: Walk, *reports: Any) -> Outcome:
    """The outcome of a walk after these reports."""
    for report in reports:
        walk.report(report)
    assert isinstance(walk.action, Finish), walk.action
    return walk.action.outcome


def walk_of(graph: Any = LINE, **facts: Any) -> Walk:
    """A walk of an object that has its finalizer."""
    return Walk("Drawn", graph, finalizer="f", finalizers=["f"], now=NOW, **facts)


@given(drawing=drawings(), data=st.data())
def test_c10_a_schedule_changes_nothing_but_the_next_pass(drawing: Drawn, data: Any) -> None:
    """The same results with and without ``again`` give the same outcome, apart from ``again``."""
    graph = drawing.graph
    plain, scheduled = walk_of(graph), walk_of(graph)
    asked: list[tuple[datetime, str]] = []
    while not isinstance(plain.action, Finish):
        report: Any = Acted()
        other = report
        if isinstance(plain.action, Enter):
            state = plain.action.state
            report = other = data.draw(results(state, honest=True))
            if isinstance(report, Done) and not report.recheck and not report.pause:
                again = data.draw(st.none() | AGAIN)
                other = Done(goto=report.goto, condition=report.condition, again=again)
                if again is not None:
                    asked.append(
                        (again if isinstance(again, datetime) else NOW + again, state.name)
                    )
        plain.report(report)
        scheduled.report(other)
    assert isinstance(scheduled.action, Finish)
    outcome = scheduled.action.outcome
    assert outcome._replace(again=None) == plain.action.outcome
    first = min(asked, key=lambda one: one[0], default=None)
    assert outcome.again == (None if first is None else Schedule(*first))
    assert outcome.unsettled == plain.action.outcome.unsettled


def test_a_time_in_another_zone_and_one_beyond_the_calendar() -> None:
    """Times are compared as moments; a delay too large for a datetime becomes the last datetime."""
    east = timezone(timedelta(hours=5))
    early = datetime(2026, 1, 1, 13, 0, tzinfo=UTC)
    outcome = outcome_of(
        walk_of(),
        Done(again=early + HOUR),
        Acted(),
        Done(again=early.astimezone(east)),
        Acted(),
    )
    assert outcome.again == Schedule(early, "b")
    never = outcome_of(walk_of(), Done(again=timedelta.max), Acted(), Done(), Acted())
    assert never.again is not None
    assert never.again.at.year == 9999


def test_a_later_failure_keeps_the_schedule_of_an_earlier_state() -> None:
    """That state gets its pass at that time, whether or not the other one is retried."""
    for last in (Failed("No", "no", retry=False), Failed("No", "no"), Wait("Slow")):
        outcome = outcome_of(walk_of(), Done(again=HOUR), Acted(), last)
        assert outcome.again == Schedule(NOW + HOUR, "a")
        for report in (Wait("Busy"), Failed("No", "no"), Failed("No", "no", retry=False)):
            assert unfinished(outcome, report).again == outcome.again


def test_a_finalizer_state_cannot_ask_for_a_schedule() -> None:
    """The object does not exist after its end; the result is refused and nothing is released."""
    walk = walk_of(deleting=True)
    outcome = outcome_of(walk, Done(again=HOUR))

    assert outcome.failure is not None
    assert isinstance(outcome.failure.error, FinalizerScheduleError)
    assert (outcome.failure.reason, outcome.failure.retry) == ("ScheduleWhileDeleting", False)
    assert outcome.failure.message == (
        "Drawn.z returned Done(again=...) while the object is being deleted: after the last state "
        "the object is gone, and there is nothing to look at again.\n"
        "  fix: return Done(), or Wait(reason, after=...) if the deletion has to wait"
    )
    assert outcome.again is None
    assert not outcome.released
    plain = walk_of(deleting=True)
    for report in (Done(), Acted()):
        plain.report(report)
    assert plain.action == ReleaseFinalizer()


BOTH = (
    "Done(...) cannot have both again and {0}: again says that the state holds, {0} that the object "
    "is not finished.\n  fix: drop one of them; the Wait of {0} has `after` for the time"
)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Done(again=HOUR, recheck=Wait("W")), BOTH.format("recheck")),
        (lambda: Done(again=HOUR, pause=Wait("W")), BOTH.format("pause")),
        (
            lambda: Done(again=datetime(2026, 1, 1)),  # noqa: DTZ001 - the mistake
            (
                "Done(...) has again=datetime.datetime(2026, 1, 1, 0, 0), which has no time zone.\n"
                "  fix: compute it from ctx.now, or write datetime(..., tzinfo=UTC)"
            ),
        ),
        (
            lambda: Done(again=5),  # type: ignore[arg-type]
            (
                "Done(...) has again=5, which is neither a timedelta nor a datetime.\n"
                "  fix: write again=timedelta(seconds=5)"
            ),
        ),
        (
            lambda: Done(again=-HOUR),
            (
                "Done(...) has a negative `again`: -1 day, 23:00:00.\n"
                "  fix: pass a positive timedelta; a datetime in the past means at once"
            ),
        ),
    ],
)
def test_a_schedule_that_cannot_be_meant(make: Any, text: str) -> None:
    """The error is raised where the result is built, with the fix."""
    with pytest.raises(ProgrammingError) as found:
        make()
    assert str(found.value) == text


def test_a_schedule_goes_with_goto_and_condition() -> None:
    """The result has all three."""
    value = ConditionValue("Unknown", "Partly")
    made = Done(goto="b", condition=value, again=HOUR)
    assert (made.goto, made.condition, made.again) == ("b", value, HOUR)
