"""Hypothesis strategies for graphs and for the results of states."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from myrmidon.api.objects.conditions import ConditionValue
from myrmidon.fsm import Done, Failed, Graph, Wait
from myrmidon.fsm.machine.graph import checked_graph
from myrmidon.fsm.machine.states import State


@dataclass(frozen=True)
class Drawn:
    """A generated graph: its states."""

    states: tuple[State, ...]

    @property
    def graph(self) -> Graph:
        """Return the checked graph."""
        return checked_graph("Drawn", self.states)


@st.composite
def drawings(draw: st.DrawFn, *, finalizer: bool | None = None) -> Drawn:
    """Draw valid graphs: edges lead forward, and every state is reachable."""
    count = draw(st.integers(1, 5))
    has_finalizer = draw(st.booleans()) if finalizer is None else finalizer
    start = draw(st.integers(1, count)) if has_finalizer else None
    total = count + (1 if start is not None else 0)
    edges: dict[int, set[int]] = {index: set() for index in range(total)}
    for target in range(1, total):
        if target != start:
            edges[draw(st.integers(0, target - 1))].add(target)
    for source in range(total):
        later = [index for index in range(source + 1, total) if index != start]
        if later:
            edges[source] |= draw(st.sets(st.sampled_from(later), max_size=2))
    return Drawn(
        tuple(
            State(
                f"s{index}",
                f"C{index}",
                tuple(f"s{target}" for target in sorted(edges[index])),
                initial=index == 0,
                finalizer=index == start,
            )
            for index in range(total)
        )
    )


AFTER = st.sampled_from([None, timedelta(0), timedelta(seconds=5), timedelta(hours=1)])
WAITS = st.builds(
    Wait, st.sampled_from(["Waiting", "Slow"]), st.sampled_from(["", "soon"]), AFTER, st.booleans()
)
FAILURES = st.builds(
    Failed,
    st.sampled_from(["Broken", "Lost"]),
    st.sampled_from([ValueError("no"), "no 17", KeyError()]),
    st.booleans(),
)
CONDITION_VALUES = st.builds(
    ConditionValue,
    st.sampled_from(["True", "False", "Unknown"]),
    st.sampled_from(["Partly", "Fine"]),
    st.sampled_from(["", "text"]),
)


@st.composite
def results(draw: st.DrawFn, state: State, *, honest: bool = False) -> Any:
    """Draw results of a state; unless ``honest``, some have undeclared edges or a wrong type."""
    kinds = [*["done"] * 5, *["condition"] * 3, *["recheck"] * 2, "pause", "wait", "failed"]
    kind = draw(st.sampled_from(kinds if honest else [*kinds, "stray", "nonsense"]))
    goto = draw(st.sampled_from(state.then)) if state.then else None
    if len(state.then) == 1 and draw(st.booleans()):
        goto = None
    match kind:
        case "done":
            return Done(goto=goto)
        case "condition":
            return Done(goto=goto, condition=draw(CONDITION_VALUES))
        case "recheck":
            return Done(goto=goto, recheck=draw(WAITS))
        case "pause":
            return Done(pause=draw(WAITS))
        case "wait":
            return draw(WAITS)
        case "failed":
            return draw(FAILURES)
        case "stray":
            return Done(goto="nowhere")
        case _:
            return draw(st.sampled_from([None, True, "Done", Done]))
