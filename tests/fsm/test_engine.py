"""The walk, driven by lists of reports: W1 to W6, D3, and every row of the table of results."""

from collections.abc import Iterable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects.conditions import ConditionValue
from myrmidon.errors import StateResultError, UndeclaredEdgeError
from myrmidon.fsm import Done, Failed, Graph, Wait, Walk
from myrmidon.fsm.engine import (
    Acted,
    Action,
    EnsureFinalizer,
    Enter,
    Finish,
    Outcome,
    ReleaseFinalizer,
    Skip,
    Write,
    unfinished,
)
from myrmidon.fsm.machine.states import State
from tests.fsm.graphs import FAILURES, WAITS, Drawn, drawings, results
from tests.fsm.things import graph_of

FINALIZER = "example.com/thing"
SOON, LATER = timedelta(seconds=5), timedelta(hours=1)
ACTS = st.just(Acted()) | st.just(Acted()) | st.just(Acted()) | WAITS | FAILURES


def walk_of(graph: Graph, **facts: Any) -> Walk:
    """Return a walk of an object that has its finalizer, unless ``facts`` say otherwise."""
    return Walk("Drawn", graph, finalizer=FINALIZER, **{"finalizers": [FINALIZER], **facts})


def driven(walk: Walk, reports: Iterable[Any]) -> list[Any]:
    """Return every action, each followed by the report that answered it."""
    log: list[Any] = [walk.action]
    for report in reports:
        if isinstance(walk.action, Skip | Finish):
            break
        log += [report, walk.report(report)]
    return log


@st.composite
def walks(draw: st.DrawFn) -> tuple[Graph, dict[str, Any], list[Any]]:
    """Draw a graph, the facts of an object, and the reports until the walk is over."""
    drawing: Drawn = draw(drawings())
    facts = {
        "finalizers": draw(st.sampled_from([[], [FINALIZER], ["other", FINALIZER], ["other"]])),
        "deleting": draw(st.booleans()),
        "suspended": draw(st.sampled_from([False, False, False, True])),
    }
    graph = drawing.graph
    walk, reports = walk_of(graph, **facts), []
    while not isinstance(walk.action, Skip | Finish):
        action = walk.action
        report = draw(results(action.state)) if isinstance(action, Enter) else draw(ACTS)
        reports.append(report)
        walk.report(report)
    return graph, facts, reports


def actions(log: list[Any]) -> list[Action]:
    """The actions of a log, without the reports."""
    return log[::2]


def outcome_of(log: list[Any]) -> Outcome | None:
    """Return the outcome of the walk; None if there was none."""
    return log[-1].outcome if isinstance(log[-1], Finish) else None


@given(drawn=walks())
def test_w1_a_walk_follows_from_its_reports_alone(drawn: Any) -> None:
    """It begins at the start state and depends on no other walk."""
    graph, facts, reports = drawn
    log = driven(walk_of(graph, **facts), reports)

    assert repr(driven(walk_of(graph, **facts), reports)) == repr(log)  # errors compare by identity
    entered = [action.state for action in actions(log) if isinstance(action, Enter)]
    if entered:
        assert entered[0] == graph.start(deleting=facts["deleting"])
        assert all(target.name in state.then for state, target in pairwise(entered))
    assert isinstance(log[-1], Skip | Finish)


@given(drawn=walks())
def test_w2_outputs_are_written_before_the_next_state_and_only_if_they_hold(drawn: Any) -> None:
    """Outputs are written after Done, or where the result keeps them.

    A failed write ends the walk.
    """
    graph, facts, reports = drawn
    log = driven(walk_of(graph, **facts), reports)
    steps = list(zip(actions(log), [*log[1::2], None], strict=True))

    for (action, report), (following, _) in pairwise(steps):
        if isinstance(action, Enter):
            waits = isinstance(report, Wait) and report.keep_outputs is True
            kept = isinstance(report, Done) or waits
            assert isinstance(following, Write) <= kept
            if isinstance(following, Write):
                assert following.state == action.state
        if isinstance(following, Enter) and isinstance(action, Write):
            assert report == Acted()
        if isinstance(following, Enter):
            assert isinstance(action, Write | EnsureFinalizer)
        if isinstance(report, Wait | Failed) and isinstance(action, Write):
            assert isinstance(following, Finish)


@given(drawn=walks())
def test_w3_the_finalizer_comes_first_and_goes_last(drawn: Any) -> None:
    """It is added before the first state, and removed when the finalizer graph has ended."""
    graph, facts, reports = drawn
    log = driven(walk_of(graph, **facts), reports)
    done = actions(log)

    if graph.finalizer and FINALIZER not in facts["finalizers"] and not facts["suspended"]:
        assert isinstance(done[0], Skip if facts["deleting"] else EnsureFinalizer)
    if EnsureFinalizer() in done:
        assert done.index(EnsureFinalizer()) == 0
        if len(done) > 1 and isinstance(done[1], Enter):
            assert log[1] == Acted()
    if ReleaseFinalizer() in done:
        index = done.index(ReleaseFinalizer())
        entered = [action.state for action in done if isinstance(action, Enter)]
        reported = [r for a, r in zip(done, log[1::2], strict=False) if isinstance(a, Enter)]
        assert facts["deleting"]
        assert index == len(done) - 2
        assert not entered or not entered[-1].then
        assert all(isinstance(r, Done) and not r.recheck and not r.pause for r in reported)
    outcome = outcome_of(log)
    if outcome is not None and outcome.released:
        assert log[-2] == Acted()
        assert log[-3] == ReleaseFinalizer()


@given(drawing=drawings(), deleting=st.booleans(), finalizers=st.sampled_from([[], [FINALIZER]]))
def test_w6_a_suspended_object_is_left_alone(
    drawing: Drawn, deleting: bool, finalizers: list[str]
) -> None:
    """No state runs and nothing is written, also while it is being deleted."""
    walk = walk_of(drawing.graph, suspended=True, deleting=deleting, finalizers=finalizers)

    assert isinstance(walk.action, Skip)
    if not deleting or finalizers:
        assert walk.action == Skip("suspended")


@given(wait=WAITS)
def test_w3_a_finalizer_graph_that_asks_for_a_recheck_releases_nothing(wait: Wait) -> None:
    """It has reached its end, but asked to run again, so the finalizer stays."""
    log = driven(walk_of(LINE, deleting=True), [Done(recheck=wait), Acted()])
    outcome = outcome_of(log)

    assert outcome is not None
    assert outcome.ended
    assert not outcome.released
    assert ReleaseFinalizer() not in actions(log)


def test_an_object_that_other_finalizers_hold_is_skipped() -> None:
    """It is being deleted and our finalizer is gone, or was never there."""
    with_finalizer = graph_of([State("a", "A", initial=True), State("b", "B", finalizer=True)])
    without = graph_of([State("a", "A", initial=True)])

    assert walk_of(with_finalizer, deleting=True, finalizers=["other"]).action == Skip("released")
    assert walk_of(without, deleting=True, finalizers=["other"]).action == Skip("deleting")


def test_w3_a_finalizer_without_states_is_released() -> None:
    """It was there for the children that only the framework can delete."""
    without = graph_of([State("a", "A", initial=True)])
    walk = walk_of(without, deleting=True)

    assert driven(walk, [Acted()]) == [
        ReleaseFinalizer(),
        Acted(),
        Finish(Outcome(released=True)),
    ]


# ------------------------------------------------------------------------- results

LINE = graph_of(
    [State("a", "A", ("b",), initial=True), State("b", "B"), State("z", "Z", finalizer=True)]
)
FORK = graph_of([State("a", "A", ("b", "c"), initial=True), State("b", "B"), State("c", "C")])
TRUE = ConditionValue("True", "Done")


def visited(outcome: Outcome | None) -> list[tuple[str, str, str]]:
    """Each visit as state, status and reason."""
    assert outcome is not None
    return [(v.state.name, v.value.status, v.value.reason) for v in outcome.visits]


@pytest.mark.parametrize(
    ("result", "writes", "visits", "rest"),
    [
        (Done(), True, [("a", "True", "Done"), ("b", "True", "Done")], {"ended": True}),
        (Done(goto="b"), True, [("a", "True", "Done"), ("b", "True", "Done")], {"ended": True}),
        (
            Done(condition=ConditionValue("Unknown", "Partly")),
            True,
            [("a", "Unknown", "Partly"), ("b", "True", "Done")],
            {"ended": True},
        ),
        (
            Done(recheck=Wait("Later", after=SOON)),
            True,
            [("a", "False", "Later"), ("b", "True", "Done")],
            {"ended": True, "after": SOON},
        ),
        (
            Done(recheck=Wait("Later")),
            True,
            [("a", "False", "Later"), ("b", "True", "Done")],
            {"ended": True, "backoff": True},
        ),
        (Done(pause=Wait("Stop", after=SOON)), True, [("a", "True", "Done")], {"after": SOON}),
        (Wait("Slow", after=SOON), False, [("a", "False", "Slow")], {"after": SOON}),
        (Wait("Slow"), False, [("a", "False", "Slow")], {"backoff": True}),
        (Wait("Slow", keep_outputs=True), True, [("a", "False", "Slow")], {"backoff": True}),
        (Failed("Broken", "x"), False, [("a", "False", "Broken")], {"backoff": True}),
        (Failed("Broken", "x", retry=False), False, [("a", "False", "Broken")], {}),
    ],
    ids=range(11),
)
def test_the_table_of_results(
    result: Any, writes: bool, visits: list[Any], rest: dict[str, Any]
) -> None:
    """Each row checks the condition, what happens to the outputs, and the next pass."""
    walk = walk_of(LINE)
    reports = [result, Acted(), Done(), Acted()] if writes else [result]
    log = driven(walk, reports)
    outcome = outcome_of(log)

    assert outcome is not None
    assert (Write(LINE.states["a"]) in actions(log)) is writes
    assert visited(outcome) == visits
    assert {
        name: value
        for name, value in (
            ("ended", outcome.ended),
            ("after", outcome.after),
            ("backoff", outcome.backoff),
        )
        if value
    } == rest
    assert outcome.failure == (result if isinstance(result, Failed) else None)
    assert next(visit.failed for visit in outcome.visits) is isinstance(result, Failed)


@given(drawn=walks())
def test_c1_the_record_of_a_walk_says_what_happened(drawn: Any) -> None:
    """One visit per state entered, in order; ended only where nothing follows."""
    graph, facts, reports = drawn
    log = driven(walk_of(graph, **facts), reports)
    outcome = outcome_of(log)
    if outcome is None:
        return
    entered = [action.state for action in actions(log) if isinstance(action, Enter)]

    assert [visit.state for visit in outcome.visits] == entered
    if outcome.ended:
        assert not entered[-1].then
    if outcome.failure is not None and not outcome.failure.retry:
        assert outcome.after is None
        assert not outcome.backoff
    if outcome.failure is not None and outcome.failure.retry:
        assert outcome.backoff
    assert outcome.unsettled == bool(
        outcome.failure or outcome.after is not None or outcome.backoff
    )


def test_the_soonest_of_all_rechecks_counts() -> None:
    """If several states ask for a recheck, the earliest time is used."""
    for first, second in ((SOON, LATER), (LATER, SOON)):
        reports = [Done(recheck=Wait("A", after=first)), Acted(), Wait("B", after=second)]
        outcome = outcome_of(driven(walk_of(LINE), reports))
        assert outcome is not None
        assert outcome.after == SOON


@given(failed=FAILURES, act=st.sampled_from(["ensure", "write", "release"]))
def test_what_the_framework_could_not_do_ends_the_walk(failed: Failed, act: str) -> None:
    """The outcome has the failure; a state has a condition only if it was under way."""
    cases: dict[str, tuple[dict[str, Any], list[Any]]] = {
        "ensure": ({"finalizers": []}, [failed]),
        "write": ({}, [Done(), failed]),
        "release": ({"deleting": True}, [Done(), Acted(), failed]),
    }
    facts, reports = cases[act]
    outcome = outcome_of(driven(walk_of(LINE, **facts), reports))

    assert outcome is not None
    assert outcome.failure == failed
    assert not outcome.released
    assert (
        visited(outcome)
        == {
            "ensure": [],
            "write": [("a", "False", failed.reason)],
            "release": [("z", "True", "Done")],
        }[act]
    )


@given(failed=FAILURES, act=st.sampled_from(["ensure", "enter", "write", "release"]))
def test_a_walk_can_be_abandoned_anywhere(failed: Failed, act: str) -> None:
    """It counts as a failure of that step: the current state reports it, nothing is released."""
    cases: dict[str, tuple[dict[str, Any], list[Any], list[Any]]] = {
        "ensure": ({"finalizers": []}, [], []),
        "enter": ({}, [], [("a", "False", failed.reason)]),
        "write": ({}, [Done()], [("a", "False", failed.reason)]),
        "release": ({"deleting": True}, [Done(), Acted()], [("z", "True", "Done")]),
    }
    facts, reports, visits = cases[act]
    walk = walk_of(LINE, **facts)
    driven(walk, reports)

    finish = walk.abandon(failed)

    assert walk.action == finish
    assert finish.outcome.failure == failed
    assert not finish.outcome.released
    assert visited(finish.outcome) == visits


def test_d3_an_undeclared_edge_stops_the_walk_before_anything_is_written() -> None:
    """With the controller, the state and the fix; it is not tried again."""
    texts = {
        "x": "Drawn.a went to 'x', which is not declared (declared: 'b', 'c').\n"
        "  fix: add 'x' to the `then` of Drawn.a",
        None: "Drawn.a returned Done() without goto, but declares 2 next states.\n"
        "  fix: return Done(goto=...) with one of 'b', 'c'",
    }
    for goto, text in texts.items():
        log = driven(walk_of(FORK), [Done(goto=goto)])
        outcome = outcome_of(log)
        assert outcome is not None
        assert outcome.failure is not None
        assert isinstance(outcome.failure.error, UndeclaredEdgeError)
        assert outcome.failure.message == text
        assert not outcome.failure.retry
        assert not outcome.backoff
        assert actions(log)[1:] == [Finish(outcome)]
        assert visited(outcome) == [("a", "False", "UndeclaredEdge")]
    end = outcome_of(driven(walk_of(FORK), [Done(goto="b"), Acted(), Done(goto="c")]))
    assert end is not None
    assert end.failure is not None
    assert end.failure.message == (
        "Drawn.b went to 'c', which is not declared (declared: none).\n"
        "  fix: add 'c' to the `then` of Drawn.b"
    )


@given(drawing=drawings(), wrong=st.sampled_from([None, True, "Done", Done, Acted()]))
def test_d3_a_value_that_is_not_a_result_is_refused(drawing: Drawn, wrong: Any) -> None:
    """The usual cause is a forgotten return."""
    log = driven(walk_of(drawing.graph, finalizers=[FINALIZER]), [wrong])
    outcome = outcome_of(log)

    assert outcome is not None
    assert outcome.failure is not None
    assert isinstance(outcome.failure.error, StateResultError)
    shown, fix = repr(wrong), "return Done(), Wait(reason, message) or Failed(reason, error)"
    if wrong is Done:
        shown, fix = "the class Done", "return an object: Done(...), with parentheses"
    assert outcome.failure.message == (
        f"Drawn.s0 returned {shown}, which is not a result.\n  fix: {fix}"
    )
    assert not outcome.unsettled or not outcome.backoff


def test_d3_a_recheck_does_not_retry_what_retrying_cannot_help() -> None:
    """It waits until the object changes, although an earlier state asked for a recheck."""
    reports = [Done(recheck=Wait("A", after=SOON)), Acted(), Done(goto="nowhere")]
    outcome = outcome_of(driven(walk_of(LINE), reports))

    assert outcome is not None
    assert outcome.after is None
    assert not outcome.backoff


def test_a_walk_that_is_over_takes_no_reports() -> None:
    """Nor does an action take a report of another type: both would be errors of the framework."""
    walk = walk_of(LINE, suspended=True)
    with pytest.raises(AssertionError, match="after Skip"):
        walk.report(Acted())
    for finalizers in ([], [FINALIZER]):
        walk = walk_of(LINE, finalizers=finalizers)
        if isinstance(walk.action, Enter):
            walk.report(Done())
        with pytest.raises(AssertionError, match="is not an answer to"):
            walk.report(Done())
    with pytest.raises(AssertionError, match="nothing to do for a deleted object"):
        FORK.start(deleting=True)


@pytest.mark.parametrize(
    ("before", "report", "after", "backoff"),
    [
        (None, Wait("Busy"), None, True),
        (None, Wait("Busy", after=SOON), SOON, False),
        (None, Failed("Broken", "it is"), None, True),
        (SOON, Failed("Broken", "it is"), SOON, True),
    ],
)
def test_work_that_fails_after_the_last_state_is_looked_at_again(
    before: timedelta | None, report: Wait | Failed, after: timedelta | None, backoff: Any
) -> None:
    """The walk counts as interrupted: a requested recheck stays, and the failure is reported."""
    outcome = unfinished(Outcome(ended=True, after=before), report)
    failure = report if isinstance(report, Failed) else None
    assert outcome == Outcome(ended=False, failure=failure, after=after, backoff=backoff)


def test_work_after_the_walk_that_retrying_cannot_help_is_not_retried() -> None:
    """The outcome keeps its visits, and nothing is scheduled."""
    ended = Outcome(ended=True, after=timedelta(hours=1))
    failed = Failed("InvalidStatus", "no", retry=False)

    assert unfinished(ended, failed) == Outcome(failure=failed)
    assert unfinished(ended, Failed("Refused", "no")).backoff
