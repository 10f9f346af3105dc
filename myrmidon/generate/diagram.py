"""Draw the graph of a controller as SVG, without any other program.

Layers from left to right, by the longest way from a start; an edge over several layers goes through
an invisible place in each, so that it passes between boxes and not over them.  A bar stands where a
fork begins, and where its branches are joined.  Boxes bring their own
background and lines are of a middle grey: the picture is readable on a light page and on a dark one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import TypeAlias

from myrmidon.fsm.machine.graph import Graph

Name: TypeAlias = str

_CREATED, _DELETED = "(created)", "(deleted)"
_CHARACTER, _PADDING, _BOX_HEIGHT, _DOT, _BAR = 7.6, 26.0, 46.0, 12.0, 5.0
_COLUMN_GAP, _ROW_GAP, _MARGIN, _LABEL = 56.0, 22.0, 14.0, 22.0
_SWEEPS = 4

_STYLE = """\
  <style>
    text { font: 13px ui-sans-serif, system-ui, sans-serif; fill: #1f2328; text-anchor: middle }
    .name { font-weight: 600 }
    .condition, .label { font-size: 11px; fill: #59636e }
    .label { fill: #848d97; text-anchor: start }
    .box { fill: #f6f8fa; stroke: #848d97; stroke-width: 1.2 }
    .end { stroke: #3fb950; stroke-width: 2 }
    .deleting { stroke-dasharray: 5 3 }
    .edge { fill: none; stroke: #848d97; stroke-width: 1.4; marker-end: url(#arrow) }
    .dot { fill: #848d97 }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 }
      .condition { fill: #9198a1 }
      .box { fill: #151b23 }
    }
  </style>
"""
_MARKER = """\
  <defs>
    <marker id="{prefix}arrow" viewBox="0 0 8 8" refX="7" refY="4" markerUnits="userSpaceOnUse" markerWidth="10" markerHeight="10" orient="auto">
      <path class="dot" d="M0 0 8 4 0 8z"/>
    </marker>
  </defs>"""


@dataclass(frozen=True, slots=True)
class _Place:
    """A position in the drawing: its centre and its width."""

    x: float
    y: float
    width: float

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width / 2


def svg(graph: Graph, title: str = "state machine", embedded: str = "") -> str:
    """Return the graph as an SVG document.

    ``embedded`` is a prefix of ids, for a page that has several graphs: the drawing then leaves its
    style to the page, and each state is a link ``#state=NAME`` with a place for a count.
    """
    drawn, bars = graph.drawn_edges
    edges = [(_CREATED, graph.initial), *drawn]
    if graph.finalizer is not None:
        edges.append((_DELETED, graph.finalizer))
    layers, chains = _routed(edges, _layer_of(edges))
    rows = _ordered(layers, chains)
    widths = {name: _width(graph, name) for layer in rows for name in layer}
    widths |= dict.fromkeys(bars, _BAR)
    places = _placed(rows, widths)
    width = max(place.right for place in places.values()) + _MARGIN
    height = max(place.y for place in places.values()) + _BOX_HEIGHT / 2 + _MARGIN
    parts = [
        _opening(width, height, "group" if embedded else "img"),
        f"  <title>{escape(title)}</title>",
        _MARKER.format(prefix=escape(embedded)) if embedded else _STYLE + _MARKER.format(prefix=""),
        *(_edge(chain, places, embedded) for chain in chains),
        *(_node(graph, name, places[name], embedded) for layer in rows for name in layer),
        *(_bar(places[name]) for name in bars),
        "</svg>",
    ]
    return "\n".join(filter(None, parts)) + "\n"


# -------------------------------------------------------------------------------- layout


def _layer_of(edges: Sequence[tuple[Name, Name]]) -> dict[Name, int]:
    """The longest way from a start to each state; the graph has no cycles."""
    layers = {name: 0 for edge in edges for name in edge}
    moved = True
    while moved:
        moved = False
        for source, target in edges:
            if layers[target] <= layers[source]:
                layers[target] = layers[source] + 1
                moved = True
    return layers


def _routed(
    edges: Sequence[tuple[Name, Name]], layer_of: Mapping[Name, int]
) -> tuple[list[list[Name]], list[list[Name]]]:
    """Layers with an invisible place wherever an edge passes, and each edge as a chain of places."""
    layers: list[list[Name]] = [[] for _ in range(max(layer_of.values()) + 1)]
    for name, layer in layer_of.items():
        layers[layer].append(name)
    chains: list[list[Name]] = []
    for source, target in edges:
        chain = [source]
        for layer in range(layer_of[source] + 1, layer_of[target]):
            passing = f"{source}>{target}>{layer}"
            layers[layer].append(passing)
            chain.append(passing)
        chains.append([*chain, target])
    return layers, chains


def _ordered(layers: list[list[Name]], chains: Sequence[Sequence[Name]]) -> list[list[Name]]:
    """Each layer in the order of its neighbours, back and forth: few edges cross."""
    links = [pair for chain in chains for pair in pairwise(chain)]
    before: dict[Name, list[Name]] = {}
    after: dict[Name, list[Name]] = {}
    for source, target in links:
        before.setdefault(target, []).append(source)
        after.setdefault(source, []).append(target)
    rows = [list(layer) for layer in layers]
    for sweep in range(_SWEEPS):
        forth = sweep % 2 == 0
        indexes = range(1, len(rows)) if forth else range(len(rows) - 2, -1, -1)
        for index in indexes:
            beside = rows[index - 1] if forth else rows[index + 1]
            rank = {name: place for place, name in enumerate(beside)}
            rows[index] = _sorted_by_neighbours(rows[index], before if forth else after, rank)
    return rows


def _sorted_by_neighbours(
    row: list[Name], neighbours: Mapping[Name, list[Name]], rank: Mapping[Name, int]
) -> list[Name]:
    def middle(name: Name) -> float:
        near = [rank[other] for other in neighbours.get(name, ()) if other in rank]
        # What has no neighbour there stays below: it belongs to the other start.
        return sum(near) / len(near) if near else float(len(rank))

    return sorted(row, key=middle)


def _placed(rows: Sequence[Sequence[Name]], widths: Mapping[Name, float]) -> dict[Name, _Place]:
    """Columns beside each other, each centred on the tallest."""
    step = _BOX_HEIGHT + _ROW_GAP
    tallest = max(len(row) for row in rows)
    places: dict[Name, _Place] = {}
    x = _MARGIN + _LABEL
    for row in rows:
        width = max(widths[name] for name in row)
        top = _MARGIN + _BOX_HEIGHT / 2 + (tallest - len(row)) * step / 2
        for index, name in enumerate(row):
            places[name] = _Place(x + width / 2, top + index * step, widths[name])
        x += width + _COLUMN_GAP
    return places


def _width(graph: Graph, name: Name) -> float:
    if name not in graph.states:
        return _DOT if name in (_CREATED, _DELETED) else 0.0
    state = graph.states[name]
    return max(len(name), len(state.condition) * 0.9) * _CHARACTER + _PADDING


# ------------------------------------------------------------------------------- drawing


def _opening(width: float, height: float, role: str) -> str:
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="{role}">'


def _edge(names: Sequence[Name], places: Mapping[Name, _Place], embedded: str) -> str:
    """A curve through all places of a chain."""
    chain = [places[name] for name in names]
    path = f"M{chain[0].right:.1f} {chain[0].y:.1f}"
    for here, there in pairwise(chain):
        middle = (here.right + there.left) / 2
        path += (
            f" C{middle:.1f} {here.y:.1f} {middle:.1f} {there.y:.1f} {there.left:.1f} {there.y:.1f}"
        )
    if not embedded:
        return f'  <path class="edge" d="{path}"/>'
    named = f'data-edge="{escape(names[0])}>{escape(names[-1])}"'
    return f'  <path class="edge" {named} marker-end="url(#{escape(embedded)}arrow)" d="{path}"/>'


def _bar(place: _Place) -> str:
    """The bar at which branches of a fork begin, or at which they are joined."""
    top = place.y - _BOX_HEIGHT / 2
    return (
        f'  <rect class="dot" x="{place.left:.1f}" y="{top:.1f}" '
        f'width="{place.width:.0f}" height="{_BOX_HEIGHT:.0f}" rx="2"/>'
    )


def _node(graph: Graph, name: Name, place: _Place, embedded: str) -> str:
    if name in (_CREATED, _DELETED):
        word = name.strip("()")
        return (
            f'  <circle class="dot" cx="{place.x:.1f}" cy="{place.y:.1f}" r="{_DOT / 2}"/>\n'
            f'  <text class="label" x="{place.x - _LABEL:.1f}" y="{place.y + 20:.1f}">{word}</text>'
        )
    if name not in graph.states:
        return ""
    state = graph.states[name]
    kind = "box" + (" end" if not state.then else "")
    if graph.finalizer and state in graph.reachable(graph.finalizer):
        kind += " deleting"
    top = place.y - _BOX_HEIGHT / 2
    drawn = (
        f"<title>{escape(state.summary or state.name)}</title>\n"
        f'    <rect class="{kind}" x="{place.left:.1f}" y="{top:.1f}" '
        f'width="{place.width:.1f}" height="{_BOX_HEIGHT:.0f}" rx="8"/>\n'
        f'    <text class="name" x="{place.x:.1f}" y="{place.y - 3:.1f}">{escape(name)}</text>\n'
        f'    <text class="condition" x="{place.x:.1f}" y="{place.y + 13:.1f}">'
        f"{escape(state.condition)}</text>\n"
    )
    if not embedded:
        return f"  <g>{drawn}  </g>"
    link = f'<a class="state" data-state="{escape(name)}" href="#state={escape(name)}">'
    return f"  {link}{drawn}{_count(name, place.right - 4, top)}  </a>"


def _count(name: Name, x: float, y: float) -> str:
    """The place for the number of objects in a state, on the corner of its box."""
    return (
        f'    <g class="count" data-count="{escape(name)}" visibility="hidden">'
        f'<rect x="{x - 15:.1f}" y="{y - 9:.1f}" width="30" height="18" rx="9"/>'
        f'<text x="{x:.1f}" y="{y + 4:.1f}">0</text></g>\n'
    )
