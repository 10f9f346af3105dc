"""The diagram of a graph: it is complete, and nothing overlaps."""

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from myrmidon.fsm.machine.graph import Graph
from myrmidon.fsm.machine.states import State
from myrmidon.generate.diagram import svg

SVG = "{http://www.w3.org/2000/svg}"
NAMES = [f"state_{number}" for number in range(8)]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Draw graphs without cycles: edges lead to later states, and every state is reachable."""
    count = draw(st.integers(1, len(NAMES)))
    then: dict[int, set[int]] = {number: set() for number in range(count)}
    for number in range(1, count):
        then[draw(st.integers(0, number - 1))].add(number)
    for number in range(count - 1):
        then[number] |= draw(st.sets(st.integers(number + 1, count - 1), max_size=2))
    states = {
        NAMES[number]: State(NAMES[number], f"C{number}", tuple(NAMES[n] for n in sorted(targets)))
        for number, targets in then.items()
    }
    if draw(st.booleans()):
        states["gone"] = State("gone", "Gone", finalizer=True)
        return Graph(states, NAMES[0], "gone")
    return Graph(states, NAMES[0])


@given(graphs())
def test_boxes_are_apart_and_edges_are_all_there(graph: Graph) -> None:
    """A box for every state, a line for every edge and start, no box on another."""
    picture = ET.fromstring(svg(graph))
    boxes = [
        tuple(float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
        for rect in picture.iter(f"{SVG}rect")
    ]
    starts = 1 + (graph.finalizer is not None)
    edges = [path for path in picture.iter(f"{SVG}path") if path.attrib["class"] == "edge"]

    assert len(boxes) == len(graph.states)
    assert len(edges) == len(graph.edges) + starts
    for index, (x, y, width, height) in enumerate(boxes):
        for left, top, wide, high in boxes[index + 1 :]:
            assert x + width < left or left + wide < x or y + height < top or top + high < y


def test_the_text_of_a_state_is_escaped() -> None:
    """A summary is a text of the user."""
    graph = Graph({"a": State("a", "A", summary="<b> & 'c'")}, "a")

    titles = [title.text for title in ET.fromstring(svg(graph, "<x>")).iter(f"{SVG}title")]
    assert titles == ["<x>", "<b> & 'c'"]
