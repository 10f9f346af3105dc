"""Forks: states whose branches are independent of each other, and where the branches join again.

``then=Fork("database", "cache")`` says that both states come next and neither depends on the other.
One pass walks one branch after the other, in the order of the declaration, and also walks the
second if the first waits or fails.  A state that several branches lead to is the join of the fork:

    configured ─┬▶ database ─▶ migrated ─┬▶ served          served joins the fork
                └▶ cache ────────────────┘

A branch is finished when it has come to the join or to an end (a state without a next state).  The
join is entered once, when every branch is finished and at least one has come to it.  A branch that
waits, fails or pauses is not finished, so neither the join nor a state behind it runs in that pass.
Without a join, the walk has reached its end when every branch has.

``shapes_of`` finds the join of each fork when the class is defined, and refuses a graph in which
"the branch is finished" would not be clear:

- a branch that leads into another branch of the same fork;
- branches that come together in more than one state;
- a fork inside a branch, one of whose branches goes to the join of the outer fork and so passes its
  own join.

In a graph without these faults, no state runs twice in a pass: the states of different branches
differ up to the join, and a join is entered only when its fork is closed.

``Course`` is the position of one walk: the forks that it is inside, innermost last.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from myrmidon.errors import ForkError
from myrmidon.fsm.machine.states import State

States: TypeAlias = Mapping[str, State]
Edge: TypeAlias = tuple[str, str]


class ForkShape(NamedTuple):
    """A fork: the state that joins its branches, None for none, and the states before the join."""

    join: str | None
    inside: frozenset[str]


def shapes_of(controller: str, states: States) -> dict[str, ForkShape]:
    """Return the shape of each fork by the name of its state; raise ``ForkError`` for a fault."""
    forks = [state for state in states.values() if state.fork]
    shapes = {fork.name: _shape(controller, fork, states) for fork in forks}
    for outer in forks:
        join, inside = shapes[outer.name]
        if join is not None:
            for inner in forks:
                if inner.name in inside:
                    _check_nesting(controller, outer.name, join, inner, shapes[inner.name])
    return shapes


def _shape(controller: str, fork: State, states: States) -> ForkShape:
    reached = [_reachable(branch, states) for branch in fork.then]
    every = frozenset().union(*reached)
    shared = {name for name in every if sum(name in one for one in reached) > 1}
    for branch in fork.then:
        if branch in shared:
            raise ForkError(
                controller,
                fork.name,
                f"has the branch {branch!r}, to which another of its branches leads",
                f"take {branch!r} out of the Fork: it comes after the other branch anyway",
            )
    inside = every - shared
    entries = sorted({to for name in inside for to in states[name].then if to in shared})
    if len(entries) > 1:
        raise ForkError(
            controller,
            fork.name,
            f"has branches that come together in {' and '.join(map(repr, entries))}",
            "let all branches lead to one state that joins them, and go on from there",
        )
    return ForkShape(entries[0] if entries else None, inside)


def _check_nesting(controller: str, outer: str, join: str, inner: State, shape: ForkShape) -> None:
    """Refuse a branch of an inner fork that goes to the join of the outer one past its own."""
    if join in inner.then or (shape.join is not None and join in shape.inside):
        raise ForkError(
            controller,
            inner.name,
            f"is inside a branch of {outer!r}, and one of its branches goes to {join!r}, "
            f"which joins the branches of {outer!r}",
            f"let the branches of {inner.name!r} come together before, or all of them in {join!r}",
        )


def _reachable(start: str, states: States) -> frozenset[str]:
    found, queue = {start}, [start]
    for name in queue:  # the loop itself appends to the list
        new = [to for to in states[name].then if to not in found]
        found.update(new)
        queue += new
    return frozenset(found)


# ----------------------------------------------------------------------------- the course


@dataclass(slots=True)
class _Open:
    """A fork that a walk is inside: the branch under way, those to come, and how they went."""

    join: str | None
    branch: str
    left: list[str]
    target: str | None = None  # where the finished branches go on: the join, None for an end
    stopped: bool = False


class Course:
    """Which state a walk enters next, in a graph with forks."""

    def __init__(self, shapes: Mapping[str, ForkShape]) -> None:
        self._shapes = shapes
        self._open: list[_Open] = []
        self.stopped = False
        """Whether a state outside all forks, or a branch of the outermost one, has stopped."""

    @property
    def branch(self) -> str:
        """The branch that the walk is in, such as ``cache``, nested ones ``cache/warm``; "" outside."""
        return "/".join([one.branch for one in self._open])

    def after(self, state: State, goto: str | None) -> str | None:
        """Return the state that comes after one that is done; None if the walk is over."""
        if state.fork:
            first, *left = state.then
            self._open.append(_Open(self._shapes[state.name].join, first, left))
            return first
        return self._go_on(goto or (state.then[0] if state.then else None))

    def after_stop(self) -> str | None:
        """Return the next branch after a state that stopped; None if the walk is over."""
        if not self._open:
            self.stopped = True
            return None
        self._open[-1].stopped = True
        return self._go_on(None)

    def _go_on(self, target: str | None) -> str | None:
        """Enter the target, unless it joins a fork that is open or is an end: then the branch ends."""
        while self._open:
            if target is not None and all(target != one.join for one in self._open):
                return target
            fork = self._open[-1]
            fork.target = target or fork.target
            if fork.left:
                fork.branch = fork.left.pop(0)
                return fork.branch
            self._open.pop()
            if not fork.stopped:
                target = fork.target
            elif self._open:
                self._open[-1].stopped, target = True, None
            else:
                self.stopped = True
                return None
        return target


# --------------------------------------------------------------------------- for drawings


def drawn_edges(states: States, shapes: Mapping[str, ForkShape]) -> tuple[list[Edge], list[str]]:
    """Return the edges of a drawing, with a bar for each fork and join, and the names of the bars."""
    joined = {
        (name, shape.join)
        for shape in shapes.values()
        for name in shape.inside
        if shape.join in states[name].then
    }
    edges: dict[Edge, None] = {}
    bars: dict[str, None] = {}
    for state in states.values():
        source = state.name
        if state.fork:
            source = f"{state.name}__fork"
            edges[state.name, source] = None
            bars[source] = None
        for target in state.then:
            if (state.name, target) in joined:
                bar = f"{target}__join"
                edges[source, bar] = edges[bar, target] = None
                bars[bar] = None
            else:
                edges[source, target] = None
    return list(edges), list(bars)
