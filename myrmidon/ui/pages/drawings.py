"""The graph of a controller as a drawing for the page, and the edges that a pass walked."""

from collections.abc import Sequence
from itertools import pairwise

from myrmidon.api.objects.accessors import Json
from myrmidon.fsm.machine.graph import Graph
from myrmidon.generate.diagram import svg
from myrmidon.ui.recording.stories import graph_of


def drawing_of(machine: Json, prefix: str) -> str:
    """Return the graph as SVG, to be put into a page; ``prefix`` makes its ids unique there."""
    return svg(graph_of(machine), f"the states of {machine['controller']}", embedded=prefix)


def walked_edges(graph: Graph, states: Sequence[str]) -> list[str]:
    """Return the edges of the drawing that a way through the graph uses, as ``from>to``.

    A fork and its join are bars in the drawing: a bar is on the way if a state before it and one
    after it are.
    """
    if not states:
        return []
    drawn, bars = graph.drawn_edges
    way = {*pairwise(states)}
    visited = {*states}
    for bar in bars:
        before = any(source in visited for source, target in drawn if target == bar)
        if before and any(target in visited for source, target in drawn if source == bar):
            visited.add(bar)
    barred = {*bars}
    used = [
        edge
        for edge in drawn
        if edge in way or (barred.intersection(edge) and visited.issuperset(edge))
    ]
    start = "(created)" if states[0] == graph.initial else "(deleted)"
    return [f"{start}>{states[0]}", *(f"{source}>{target}" for source, target in used)]
