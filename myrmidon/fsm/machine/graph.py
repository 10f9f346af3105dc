"""The graph of a controller's states and edges, and the checks that it has to pass.

The graph is built when the class is defined, so every mistake in it is raised at import:

- exactly one initial state, at most one finalizer start;
- every edge leads to a state that exists;
- no cycles: a pass walks each state at most once, and looks again later by returning Wait;
- the branches of a fork are independent and come together in one state (``fsm.forks``);
- every state can be reached from one of the two starts;
- every state owns one condition type, which is valid, not ``Ready``, and no other state's.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from myrmidon.api.objects.conditions import READY
from myrmidon.api.values.texts import CONDITION_TYPE_MAX
from myrmidon.errors import (
    ConditionError,
    FinalizerStateError,
    InitialStateError,
    StateCycleError,
    UnknownStateError,
    UnreachableStateError,
)
from myrmidon.fsm.machine.forks import ForkShape, drawn_edges, shapes_of
from myrmidon.fsm.machine.states import State

_CONDITION_TYPE = re.compile(
    r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
)


@dataclass(frozen=True)
class Graph:
    """The states of a controller by name, in the order of declaration, and the two starts."""

    states: Mapping[str, State]
    initial: str
    finalizer: str | None = None
    forks: Mapping[str, ForkShape] = field(default_factory=dict)
    """The forks by the name of their state: where the branches join."""

    def start(self, *, deleting: bool) -> State:
        """Return the state at which a pass starts."""
        if deleting:
            assert self.finalizer is not None, "nothing to do for a deleted object"
            return self.states[self.finalizer]
        return self.states[self.initial]

    def reachable(self, start: str) -> tuple[State, ...]:
        """Return every state that a walk from ``start`` can reach, nearest first."""
        found = {start: self.states[start]}
        queue = [start]
        for name in queue:  # the loop itself appends to the list
            for target in self.states[name].then:
                if target not in found:
                    found[target] = self.states[target]
                    queue.append(target)
        return tuple(found.values())

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        """The condition types of all states."""
        return tuple(state.condition for state in self.states.values())

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Every edge as (state, next state)."""
        return tuple(
            (state.name, target) for state in self.states.values() for target in state.then
        )

    @property
    def drawn_edges(self) -> tuple[list[tuple[str, str]], list[str]]:
        """The edges of a drawing, through a bar at each fork and join, and the names of the bars."""
        return drawn_edges(self.states, self.forks)

    def mermaid(self) -> str:
        """Return the graph as a Mermaid state diagram."""
        edges, bars = self.drawn_edges
        lines = ["stateDiagram-v2"]
        lines += [
            f"    {state.name} : {state.name}<br/>{state.condition}"
            for state in self.states.values()
        ]
        lines += [f"    state {bar} <<{bar.rpartition('__')[2]}>>" for bar in bars]
        lines.append(f"    [*] --> {self.initial}")
        if self.finalizer is not None:
            lines.append(f"    [*] --> {self.finalizer} : deleted")
        ends = [(state.name, "[*]") for state in self.states.values() if not state.then]
        order = {name: place for place, name in enumerate(self.states)}
        lines += [
            f"    {source} --> {target}"
            for source, target in sorted(
                (*edges, *ends), key=lambda edge: order[_drawn_after(edge[0])]
            )
        ]
        return "\n".join(lines) + "\n"

    def dot(self, name: str = "controller") -> str:
        """Return the graph in the DOT language of Graphviz."""
        edges, bars = self.drawn_edges
        lines = [f'digraph "{name}" {{', "    rankdir=LR;", "    node [shape=box, style=rounded];"]
        for state in self.states.values():
            shape = ", peripheries=2" if not state.then else ""
            lines.append(f'    "{state.name}" [label="{state.name}\\n{state.condition}"{shape}];')
        lines += [
            f'    "{bar}" [shape=box, style=filled, label="", width=0.06, fillcolor=black];'
            for bar in bars
        ]
        lines.append('    "__start" [shape=point];')
        lines.append(f'    "__start" -> "{self.initial}";')
        if self.finalizer is not None:
            lines.append('    "__deleted" [shape=point];')
            lines.append(f'    "__deleted" -> "{self.finalizer}" [label="deleted"];')
        lines += [f'    "{source}" -> "{target}";' for source, target in edges]
        return "\n".join([*lines, "}"]) + "\n"


def _drawn_after(name: str) -> str:
    """Return the state that a bar belongs to; the name itself for a state."""
    return name.removesuffix("__fork").removesuffix("__join")


def checked_graph(
    controller: str, states: Iterable[State], look_alikes: Sequence[str] = ()
) -> Graph:
    """Build the graph; raise a ``DefinitionError`` for the first check that fails.

    ``look_alikes`` are methods that may be states whose ``@state`` was forgotten.
    """
    by_name = {state.name: state for state in states}
    initial = [state.name for state in by_name.values() if state.initial]
    starts = [state.name for state in by_name.values() if state.finalizer]
    if len(initial) != 1:
        raise InitialStateError(controller, initial, look_alikes)
    if len(starts) > 1:
        raise FinalizerStateError(controller, starts)
    _check_edges(controller, by_name)
    _check_cycles(controller, by_name)
    forks = shapes_of(controller, by_name)
    graph = Graph(by_name, initial[0], starts[0] if starts else None, forks)
    _check_reach(controller, graph)
    _check_conditions(controller, by_name)
    return graph


def _check_edges(controller: str, states: Mapping[str, State]) -> None:
    for state in states.values():
        for target in state.then:
            if target not in states:
                raise UnknownStateError(controller, state.name, target, tuple(states))


def _check_cycles(controller: str, states: Mapping[str, State]) -> None:
    finished: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise StateCycleError(controller, (*path[path.index(name) :], name))
        if name not in finished:
            for target in states[name].then:
                visit(target, (*path, name))
            finished.add(name)

    for name in states:
        visit(name, ())


def _check_reach(controller: str, graph: Graph) -> None:
    starts = [graph.initial] + ([graph.finalizer] if graph.finalizer else [])
    reached = {state.name for start in starts for state in graph.reachable(start)}
    lost = [name for name in graph.states if name not in reached]
    if lost:
        raise UnreachableStateError(controller, lost)


def _check_conditions(controller: str, states: Mapping[str, State]) -> None:
    owner: dict[str, str] = {}
    for state in states.values():
        if state.condition == READY:
            raise ConditionError(
                controller,
                state.name,
                f"owns the condition {READY!r}, which sums up all states",
                f"choose another condition; the framework writes {READY}",
            )
        if len(state.condition) > CONDITION_TYPE_MAX or not _CONDITION_TYPE.fullmatch(
            state.condition
        ):
            raise ConditionError(
                controller,
                state.name,
                f"owns the condition {state.condition!r}, which is not a valid condition type",
                "use CamelCase letters and digits, such as 'Deployed'",
            )
        if state.condition in owner:
            raise ConditionError(
                controller,
                state.name,
                f"owns the condition {state.condition!r}, which {owner[state.condition]!r} owns already",
                "give each state a condition of its own",
            )
        owner[state.condition] = state.name
