"""Forks: independent branches are walked in one pass, and joined when all of them have arrived."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects.conditions import ConditionValue
from myrmidon.errors import DefinitionError, ForkError
from myrmidon.fsm import Done, Failed, Fork, Graph, Wait, Walk, state
from myrmidon.fsm.engine import Acted, Enter, Finish, Outcome, ReleaseFinalizer, Skip, Write
from myrmidon.fsm.machine.graph import checked_graph
from myrmidon.fsm.machine.states import State
from myrmidon.fsm.status.status import conditions_after
from myrmidon.generate.diagram import svg
from tests.fsm.graphs import drawings
from tests.fsm.things import define, graph_of, marked

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MOSTLY = st.sampled_from([True, True, True, False])
SOON, LATER = timedelta(seconds=5), timedelta(hours=1)


@dataclass
class Sketch:
    """A graph of series, choices and forks, with the join that each fork must have."""

    edges: dict[str, list[str]] = field(default_factory=dict)
    joins: dict[str, str | None] = field(default_factory=dict)

    def new(self) -> str:
        """Add a state."""
        name = f"s{len(self.edges)}"
        self.edges[name] = []
        return name

    def graph(self, start: str) -> Graph:
        """The checked graph, from that state on; it is the finalizer graph as well."""
        states = [
            State(name, name.upper(), tuple(then), initial=name == start, fork=name in self.joins)
            for name, then in self.edges.items()
        ]
        return graph_of(states)


def block(draw: st.DrawFn, sketch: Sketch, depth: int) -> tuple[str, list[str]]:
    """Add a part of a graph; return its first state, and those that may lead on."""
    kind = draw(st.sampled_from(["one", "series", "series", "choice", "fork", "fork"]))
    if depth == 0 or kind == "one":
        name = sketch.new()
        return name, [name]
    if kind == "series":
        first, ends = block(draw, sketch, depth - 1)
        if not ends:
            return first, ends
        second, later = block(draw, sketch, depth - 1)
        for end in ends:
            sketch.edges[end].append(second)
        return first, later
    name = sketch.new()
    parts = [block(draw, sketch, depth - 1) for _ in range(draw(st.integers(2, 3)))]
    sketch.edges[name] = [first for first, _ in parts]
    if kind == "choice":
        return name, [end for _, ends in parts for end in ends]
    leading = [ends for _, ends in parts if ends != [] and draw(MOSTLY)]
    if len(leading) < 2:
        sketch.joins[name] = None
        return name, []
    join = sketch.joins[name] = sketch.new()
    for ends in leading:
        chosen = [end for end in ends if draw(MOSTLY)] or ends
        for end in chosen:
            sketch.edges[end].append(join)
    return name, [join]


@st.composite
def sketches(draw: st.DrawFn) -> tuple[Graph, Sketch]:
    """A graph with forks, and its plan."""
    sketch = Sketch()
    start, _ = block(draw, sketch, draw(st.integers(1, 3)))
    return sketch.graph(start), sketch


def model(graph: Graph, joins: dict[str, str | None], answers: dict[str, Any]) -> tuple[Any, Any]:
    """Return the states that run, in order, and how the walk ends: a recursion over the graph."""
    ran: list[str] = []

    def walked(name: str, stops: frozenset[str]) -> tuple[str, str | None]:
        while name not in stops:
            ran.append(name)
            answer, found = answers[name], graph.states[name]
            if not isinstance(answer, Done) or answer.pause is not None:
                return "stopped", None
            if not found.fork:
                if not found.then:
                    return "ended", None
                name = answer.goto or found.then[0]
                continue
            join = joins[name]
            inner = stops if join is None else stops | {join}
            ends = [walked(branch, inner) for branch in found.then]
            if any(how == "stopped" for how, _ in ends):
                return "stopped", None
            targets = {to for how, to in ends if how == "arrived"}
            if not targets:
                return "ended", None
            (name,) = targets  # type: ignore[assignment]
        return "arrived", name

    how, _ = walked(graph.initial, frozenset())
    return ran, how


def answers_for(draw: Any, graph: Graph) -> dict[str, Any]:
    """A result for each state, most of them Done."""
    found = {}
    for name, one in graph.states.items():
        goto = None if one.fork or not one.then else draw(st.sampled_from(one.then))
        found[name] = draw(
            st.sampled_from(
                [
                    *[Done(goto=goto)] * 8,
                    Done(pause=Wait("Paused", after=LATER)),
                    Wait("Slow"),
                    Wait("Slow", after=SOON, keep_outputs=True),
                    Failed("Broken", name),
                    Failed("Bad", name, retry=False),
                ]
            )
        )
    return found


def walked(graph: Graph, answers: dict[str, Any], **facts: Any) -> tuple[list[str], Outcome]:
    """Return the states that a walk enters, and its outcome."""
    walk = Walk("Drawn", graph, finalizer="f", finalizers=["f"], **facts)
    ran: list[str] = []
    while not isinstance(walk.action, Finish):
        assert not isinstance(walk.action, Skip)
        if isinstance(walk.action, Enter):
            ran.append(walk.action.state.name)
            walk.report(answers[walk.action.state.name])
        else:
            walk.report(Acted())
    return ran, walk.action.outcome


@pytest.mark.law("G1")
@given(drawn=sketches(), data=st.data())
def test_a_walk_through_forks_runs_what_the_model_runs(drawn: Any, data: Any) -> None:
    """The same states in the same order; it ends exactly if every branch of every fork ended."""
    graph, sketch = drawn
    assert {name: shape.join for name, shape in graph.forks.items()} == sketch.joins
    answers = answers_for(data.draw, graph)

    ran, outcome = walked(graph, answers)
    expected, how = model(graph, sketch.joins, answers)

    assert ran == expected
    assert outcome.ended == (how == "ended")
    assert len(ran) == len(set(ran)), "no state runs twice in a pass"
    assert [visit.state.name for visit in outcome.visits] == ran
    given_answers = [answers[name] for name in ran]
    failures = [one for one in given_answers if isinstance(one, Failed)]
    assert list(outcome.failures) == failures
    assert [visit.failed for visit in outcome.visits].count(True) == len(failures)
    waits = [one.pause if isinstance(one, Done) else one for one in given_answers]
    times = [one.after for one in waits if isinstance(one, Wait) and one.after is not None]
    assert outcome.after == min(times, default=None)
    assert outcome.backoff == any(
        (isinstance(one, Wait) and one.after is None) or (isinstance(one, Failed) and one.retry)
        for one in waits
    )


@pytest.mark.law("G1")
@given(drawing=drawings(finalizer=False), data=st.data())
def test_any_graph_that_is_accepted_runs_no_state_twice(drawing: Any, data: Any) -> None:
    """Any graph, however unusual: a fork is either refused or unambiguous."""
    states = [
        one._replace(fork=len(one.then) > 1 and data.draw(st.booleans())) for one in drawing.states
    ]
    try:
        graph = checked_graph("Drawn", states)
    except ForkError:
        return
    answers = answers_for(data.draw, graph)
    ran, outcome = walked(graph, answers)
    joins = {name: shape.join for name, shape in graph.forks.items()}
    expected, how = model(graph, joins, answers)

    assert len(ran) == len(set(ran))
    assert ran == expected
    assert outcome.ended == (how == "ended")


@pytest.mark.law("G1")
@given(drawn=sketches(), data=st.data())
def test_a_join_is_entered_only_when_every_branch_has_arrived(drawn: Any, data: Any) -> None:
    """If a state of a branch stops, its join does not run, and all other branches do."""
    graph, _ = drawn
    answers = answers_for(data.draw, graph)
    ran, _ = walked(graph, answers)
    stopped = {name for name in ran if not isinstance(answers[name], Done) or answers[name].pause}
    for fork, shape in graph.forks.items():
        if fork in ran and fork not in stopped:
            assert set(graph.states[fork].then) <= set(ran), "every branch begins"
        if shape.join in ran and fork in ran:
            assert not stopped & shape.inside


@given(drawn=sketches(), data=st.data())
def test_w3_a_finalizer_graph_with_forks_is_released_when_all_branches_ended(
    drawn: Any, data: Any
) -> None:
    """And not before: the finalizer stays while a branch waits."""
    graph, _ = drawn
    states = [one._replace(initial=False, finalizer=one.initial) for one in graph.states.values()]
    deleting = graph_of([*states, State("alive", "Alive", initial=True)])
    answers = answers_for(data.draw, graph)
    ran, outcome = walked(deleting, answers, deleting=True)

    stops = [name for name in ran if not isinstance(answers[name], Done) or answers[name].pause]
    assert outcome.released == (not stops)


# ------------------------------------------------------------------------------ by hand

TWO = graph_of(
    [
        State("configured", "Configured", ("database", "cache"), initial=True, fork=True),
        State("database", "Database", ("migrated",)),
        State("migrated", "Migrated", ("served",)),
        State("cache", "Cache", ("served",)),
        State("served", "Served"),
    ]
)
DONE = dict.fromkeys(TWO.states, Done())


def ready(outcome: Outcome) -> dict[str, Any]:
    """The condition Ready after that outcome."""
    made = conditions_after(outcome, TWO, [], 1, NOW)
    return {one["type"]: one for one in made}["Ready"]


def test_ready_names_the_branches_that_are_behind() -> None:
    """Each with its condition; the conditions of both branches are written."""
    ran, outcome = walked(
        TWO, {**DONE, "migrated": Failed("NoTable", "no"), "cache": Wait("Warming", after=SOON)}
    )
    assert ran == ["configured", "database", "migrated", "cache"]
    assert [visit.branch for visit in outcome.visits] == ["", "database", "database", "cache"]
    assert (outcome.after, outcome.backoff) == (SOON, True)
    said = ready(outcome)
    assert said["message"] == (
        "database: Migrated is False (NoTable); cache: Cache is False (Warming)"
    )


@pytest.mark.law("G1")
def test_a_terminal_failure_of_one_branch_does_not_stop_the_waiting_of_another() -> None:
    """The other branch gets its next pass; if no branch waits, none is scheduled."""
    bad = Failed("Bad", "spec", retry=False)
    _, outcome = walked(TWO, {**DONE, "database": bad, "cache": Wait("Warming", after=SOON)})
    assert (outcome.after, outcome.backoff, outcome.failure) == (SOON, False, bad)
    _, outcome = walked(TWO, {**DONE, "database": bad, "cache": bad})
    assert (outcome.after, outcome.backoff, outcome.failures) == (None, False, (bad, bad))


def test_an_abandoned_walk_walks_no_further_branch() -> None:
    """No further branch is started once the time limit of the pass is over."""
    walk = Walk("Drawn", TWO, finalizer="f")
    for report in (Done(), Acted()):
        walk.report(report)
    finish = walk.abandon(Failed("PassTimeout", "too long"))
    assert [visit.state.name for visit in finish.outcome.visits] == ["configured", "database"]
    assert not finish.outcome.ended


@pytest.mark.law("G1")
def test_a_write_that_fails_ends_its_branch_only() -> None:
    """It has the same effect as a failure of the state."""
    walk = Walk("Drawn", TWO, finalizer="f")
    for report in (Done(), Acted(), Done()):
        walk.report(report)
    assert walk.action == Write(TWO.states["database"])
    assert walk.report(Failed("Forbidden", "no")) == Enter(TWO.states["cache"])


def test_a_fork_takes_no_goto() -> None:
    """A fork enters all of its branches, so a goto is refused."""
    _, outcome = walked(TWO, {**DONE, "configured": Done(goto="cache")})
    assert outcome.failure is not None
    assert outcome.failure.message == (
        "Drawn.configured went to 'cache', but it forks to 'database', 'cache'.\n"
        "  fix: return Done() without goto, or choose one of them: declare them without Fork"
    )


def test_a_finalizer_graph_may_fork() -> None:
    """Both branches are cleaned up, then the finalizer is removed."""
    graph = graph_of(
        [
            State("alive", "Alive", initial=True),
            State("gone", "Gone", ("x", "y"), finalizer=True, fork=True),
            State("x", "X"),
            State("y", "Y"),
        ]
    )
    walk = Walk("Drawn", graph, finalizer="f", finalizers=["f"], deleting=True)
    for _ in range(3):
        walk.report(Done())
        walk.report(Acted())
    assert walk.action == ReleaseFinalizer()


# -------------------------------------------------------------------------- definitions


INTO = "has the branch 'b', to which another of its branches leads"
TOGETHER = "has branches that come together in 'x' and 'y'"
PAST = "is inside a branch of 'a', and one of its branches goes to 'x', which joins"
FAULTS = [
    ({"a": "bc", "c": "b"}, "a", INTO),
    ({"a": "bc", "b": "xy", "c": "xy"}, "a", TOGETHER),
    ({"a": "bc", "b": "de", "d": "yx", "e": "y", "y": "x", "c": "x"}, "ab", TOGETHER),
    ({"a": "bc", "b": "xe", "c": "x"}, "ab", PAST),
    ({"a": "fc", "f": "de", "d": "xk", "e": "k", "c": "x"}, "af", PAST),
]


@pytest.mark.parametrize(("edges", "forks", "text"), FAULTS)
def test_d2_an_ambiguous_fork_is_refused(edges: Any, forks: Any, text: str) -> None:
    """The error names the states, with a fix."""
    names = dict.fromkeys([*edges, *(to for then in edges.values() for to in then)])
    states = [
        State(
            name, name.upper(), tuple(edges.get(name, "")), initial=name == "a", fork=name in forks
        )
        for name in names
    ]
    with pytest.raises(ForkError) as found:
        checked_graph("Drawn", states)
    assert text in str(found.value)
    assert "\n  fix: " in str(found.value)


def test_a_branch_of_an_inner_fork_may_lead_on_to_the_outer_join() -> None:
    """If its other branches end, the inner fork is finished when all of them are."""
    graph = graph_of(
        [
            State("a", "A", ("b", "c"), initial=True, fork=True),
            State("b", "B", ("d", "e"), fork=True),
            State("c", "C", ("j",)),
            State("d", "D"),
            State("e", "E", ("j",)),
            State("j", "J"),
        ]
    )
    answers: dict[str, Any] = dict.fromkeys(graph.states, Done())
    assert walked(graph, answers)[0] == ["a", "b", "d", "e", "c", "j"]
    assert walked(graph, answers)[1].visits[2].branch == "b/d"
    assert walked(graph, {**answers, "d": Wait("W")})[0] == ["a", "b", "d", "e", "c"]


def test_d2_forks_that_cannot_be_meant() -> None:
    """Fewer than two branches, a fork beside other states, a method instead of its name."""
    with pytest.raises(DefinitionError, match="has fewer than two branches"):
        Fork("database")
    with pytest.raises(DefinitionError, match="has fewer than two branches"):
        Fork("database", "database")
    with pytest.raises(DefinitionError, match=r"lists Fork\('a', 'b'\) beside other states"):
        state(then=("c", Fork("a", "b")))  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match="is not the name of a state"):
        Fork("a", test_d2_forks_that_cannot_be_meant)  # type: ignore[arg-type]


def test_a_controller_declares_a_fork() -> None:
    """The graph has the join of the fork."""
    made = define(
        first=marked(initial=True, then=Fork("left", "right")),
        left=marked(then="joined"),
        right=marked(then="joined"),
        joined=marked(),
    )
    assert made.graph.forks["first"].join == "joined"
    assert made.graph.forks["first"].inside == {"left", "right"}
    assert made.graph.edges == (
        ("first", "left"),
        ("first", "right"),
        ("left", "joined"),
        ("right", "joined"),
    )


def test_drawings_show_forks_and_joins() -> None:
    """A bar where the branches begin, and one where they are joined."""
    lines = TWO.mermaid().splitlines()
    assert "    state configured__fork <<fork>>" in lines
    assert "    state served__join <<join>>" in lines
    assert lines[-8:] == [
        "    configured --> configured__fork",
        "    configured__fork --> database",
        "    configured__fork --> cache",
        "    database --> migrated",
        "    migrated --> served__join",
        "    cache --> served__join",
        "    served__join --> served",
        "    served --> [*]",
    ]
    assert '"configured" -> "configured__fork";' in TWO.dot()
    assert svg(TWO).count('<rect class="dot"') == 2
    assert svg(graph_of([State("a", "A", initial=True)])).count('<rect class="dot"') == 0


@given(drawn=sketches(), data=st.data())
def test_c3_conditions_of_a_walk_through_forks(drawn: Any, data: Any) -> None:
    """Each state that ran has its condition; Ready is True exactly if the walk ended."""
    graph, _ = drawn
    ran, outcome = walked(graph, answers_for(data.draw, graph))
    made = conditions_after(outcome, graph, [], 1, NOW)
    found = {one["type"]: one["status"] for one in made}
    assert {name.upper() for name in ran} == set(found) - {"Ready"}
    assert (found["Ready"] == "True") == outcome.ended


def test_a_condition_of_a_branch_does_not_stop_it() -> None:
    """Ready is False and names the branch, and the join runs."""
    value = ConditionValue("False", "Partly")
    ran, outcome = walked(TWO, {**DONE, "cache": Done(condition=value)})
    assert ran[-1] == "served"
    assert ready(outcome)["message"] == "cache: Cache is False (Partly)"
