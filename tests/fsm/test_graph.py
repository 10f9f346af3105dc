"""The graph as data, as Mermaid and as DOT."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.errors import DefinitionError, StateCycleError, UnreachableStateError
from myrmidon.fsm.machine.graph import checked_graph
from myrmidon.fsm.machine.states import State
from tests.fsm.graphs import Drawn, drawings
from tests.fsm.things import Things


def test_the_picture_in_mermaid() -> None:
    """The whole text is compared, because people paste it into documents."""
    assert Things.graph.mermaid() == (
        "stateDiagram-v2\n"
        "    made : made<br/>Made\n"
        "    shown : shown<br/>Shown\n"
        "    forgotten : forgotten<br/>Forgotten\n"
        "    [*] --> made\n"
        "    [*] --> forgotten : deleted\n"
        "    made --> shown\n"
        "    shown --> [*]\n"
        "    forgotten --> [*]\n"
    )


def test_the_picture_in_dot() -> None:
    """Ends have a double border."""
    assert Things.graph.dot("Things") == (
        'digraph "Things" {\n'
        "    rankdir=LR;\n"
        "    node [shape=box, style=rounded];\n"
        '    "made" [label="made\\nMade"];\n'
        '    "shown" [label="shown\\nShown", peripheries=2];\n'
        '    "forgotten" [label="forgotten\\nForgotten", peripheries=2];\n'
        '    "__start" [shape=point];\n'
        '    "__start" -> "made";\n'
        '    "__deleted" [shape=point];\n'
        '    "__deleted" -> "forgotten" [label="deleted"];\n'
        '    "made" -> "shown";\n'
        "}\n"
    )


@given(drawing=drawings(finalizer=False))
def test_pictures_without_a_finalizer_show_every_edge(drawing: Drawn) -> None:
    """They show nothing about deletion."""
    graph = drawing.graph
    for picture in (graph.mermaid(), graph.dot()):
        assert "deleted" not in picture
        assert all(name in picture for name in graph.states)
    for source, target in graph.edges:
        assert f"    {source} --> {target}\n" in graph.mermaid()
        assert f'    "{source}" -> "{target}";\n' in graph.dot()


@given(drawing=drawings())
def test_d1_what_is_reachable_is_what_a_walk_can_come_to(drawing: Drawn) -> None:
    """The states are listed once each, nearest first.

    With the finalizer graph they are all states.
    """
    graph = drawing.graph
    starts = [graph.initial, *([graph.finalizer] if graph.finalizer else [])]
    reached = [graph.reachable(start) for start in starts]

    assert {state for part in reached for state in part} == set(graph.states.values())
    for start, part in zip(starts, reached, strict=True):
        assert part[0].name == start
        assert len(set(part)) == len(part)


@given(drawing=drawings(), data=st.data())
def test_d2_an_edge_back_is_a_cycle(drawing: Drawn, data: st.DataObject) -> None:
    """Whatever the graph, the error names a cycle that exists in it."""
    states = list(drawing.states)
    index = data.draw(st.integers(0, len(states) - 1))
    reachable = [one.name for one in drawing.graph.reachable(states[index].name)]
    last = data.draw(st.sampled_from(reachable))
    position = next(i for i, one in enumerate(states) if one.name == last)
    changed = states[position]
    states[position] = State(
        changed.name,
        changed.condition,
        (*changed.then, states[index].name),
        changed.initial,
        changed.finalizer,
    )

    with pytest.raises(StateCycleError) as caught:
        checked_graph("Drawn", states)

    edges = {(one.name, target) for one in states for target in one.then}
    cycle = caught.value.cycle
    assert cycle[0] == cycle[-1]
    assert set(itertools.pairwise(cycle)) <= edges


@given(drawing=drawings(), data=st.data())
def test_d2_a_state_that_nothing_leads_to_is_refused(drawing: Drawn, data: st.DataObject) -> None:
    """At any position in the declaration."""
    lost = State("lost", "Lost", data.draw(st.sampled_from([(), (drawing.states[0].name,)])))
    states = list(drawing.states)
    states.insert(data.draw(st.integers(0, len(states))), lost)

    with pytest.raises(UnreachableStateError) as caught:
        checked_graph("Drawn", states)

    assert caught.value.states == ("lost",)


@pytest.mark.parametrize(
    ("condition", "good"),
    [("A", True), ("example.com/Made", True), ("a.b_c-D", True), ("", False), ("-A", False),
     ("A-", False), ("a b", False), ("Example.com/", False), ("A" * 316, True), ("A" * 317, False)],
)  # fmt: skip
def test_d2_condition_types_are_those_that_the_server_takes(condition: str, good: bool) -> None:
    """The server refuses a whole status because of one invalid condition type."""
    states = [State("a", condition, initial=True)]
    if good:
        assert checked_graph("Drawn", states).conditions == (condition,)
    else:
        with pytest.raises(DefinitionError, match="is not a valid condition type"):
            checked_graph("Drawn", states)
