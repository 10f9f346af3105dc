"""Mistakes in the definition of a controller or resource class, raised at import."""

from collections.abc import Sequence
from difflib import get_close_matches

from myrmidon.errors.root import MyrmidonError, names_of


class DefinitionError(MyrmidonError):
    """A controller or resource class has a mistake; the message says how to fix it."""


class InitialStateError(DefinitionError):
    """The controller has no initial state, or more than one."""

    def __init__(
        self, controller: str, initial: Sequence[str], look_alikes: Sequence[str] = ()
    ) -> None:
        """``look_alikes`` are methods that take an OutputSet but have no ``@state``."""
        self.controller, self.initial = controller, tuple(initial)
        if initial:
            problem = f"{controller} has {len(initial)} initial states: {names_of(initial)}."
            fix = f"keep initial=True on one of them and reach {names_of(initial[1:])} by `then`"
        elif look_alikes:
            problem = f"{controller} has no initial state; {names_of(look_alikes)} takes `out`, but has no @state."
            fix = f"write @state(initial=True) above {look_alikes[0]!r}"
        else:
            problem = f"{controller} has no initial state."
            fix = "mark the state every pass starts at with @state(initial=True, ...)"
        super().__init__(f"{problem}\n  fix: {fix}")


class FinalizerStateError(DefinitionError):
    """The controller has more than one state with ``finalizer=True``."""

    def __init__(self, controller: str, starts: Sequence[str]) -> None:
        self.controller, self.starts = controller, tuple(starts)
        super().__init__(
            f"{controller} has {len(starts)} finalizer starts: {names_of(starts)}.\n"
            f"  fix: keep finalizer=True on one of them and reach {names_of(starts[1:])} by `then`"
        )


class UnknownStateError(DefinitionError):
    """An edge leads to a state that does not exist."""

    def __init__(self, controller: str, state: str, target: str, known: Sequence[str]) -> None:
        self.controller, self.state, self.target, self.known = (
            controller,
            state,
            target,
            tuple(known),
        )
        super().__init__(
            f"{controller}.{state} may go to {target!r}, but {controller} has no state of that name.\n"
            f"  fix: {_other_state(target, known)}"
        )


def _other_state(target: str, known: Sequence[str]) -> str:
    close = get_close_matches(target, known, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"use one of {names_of(known)} in `then`, or add the state {target!r}"


class StateCycleError(DefinitionError):
    """A state can reach itself within one pass."""

    def __init__(self, controller: str, cycle: Sequence[str]) -> None:
        self.controller, self.cycle = controller, tuple(cycle)
        super().__init__(
            f"{controller} has a cycle: {' -> '.join(cycle)}.\n"
            "  A pass walks from the initial state to an end; it would never reach one.\n"
            f"  fix: remove the edge {cycle[-2]} -> {cycle[-1]}; to look again later, return Wait(...)"
        )


class UnreachableStateError(DefinitionError):
    """No path leads to a state."""

    def __init__(self, controller: str, states: Sequence[str]) -> None:
        self.controller, self.states = controller, tuple(states)
        noun = "a state" if len(states) == 1 else "states"
        super().__init__(
            f"{controller} has {noun} that no path reaches: {names_of(states)}.\n"
            f"  fix: name {states[0]!r} in the `then` of the state before it, or delete it"
        )


class ConditionError(DefinitionError):
    """A condition type is used twice, missing, malformed or reserved."""

    def __init__(self, controller: str, state: str, problem: str, fix: str) -> None:
        self.controller, self.state = controller, state
        super().__init__(f"{controller}.{state} {problem}.\n  fix: {fix}")


class ForkError(DefinitionError):
    """The branches of a ``Fork`` lead into each other, or do not come together in one state."""

    def __init__(self, controller: str, state: str, problem: str, fix: str) -> None:
        self.controller, self.state = controller, state
        super().__init__(f"{controller}.{state} {problem}.\n  fix: {fix}")


class StateSignatureError(DefinitionError):
    """A state method cannot be called as (obj, out) or (obj, out, ctx)."""

    def __init__(self, controller: str, state: str, problem: str) -> None:
        self.controller, self.state = controller, state
        super().__init__(
            f"{controller}.{state} {problem}.\n"
            f"  fix: write `def {state}(self, obj, out) -> Result` "
            f"or `def {state}(self, obj, out, ctx) -> Result`, with `async` if it awaits"
        )


class ManagedKindError(DefinitionError):
    """An entry of ``manages``, ``reads`` or another attribute is not a kind."""

    def __init__(self, controller: str, attribute: str, entry: object) -> None:
        self.controller, self.attribute, self.entry = controller, attribute, entry
        super().__init__(
            f"{controller}.{attribute} lists {entry!r}, which is not a kind.\n"
            "  fix: use a constant of myrmidon.kinds, a Resource class, a kubernetes-asyncio model of "
            "a built-in kind, or Kind(group, version, kind, plural, namespaced)"
        )
