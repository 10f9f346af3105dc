"""From a method to a state."""

from typing import Any

import pytest

from myrmidon.fsm import Done, Result, state
from myrmidon.fsm.states import State, camel_case, declaration_of, signature_problem, state_of
from myrmidon.sets import OutputSet


class Machine:
    """Methods of every shape that a state can have."""

    @state(initial=True, then=["b", "b", "c"])
    def plain(self, obj: Any, out: OutputSet) -> Result:
        """Hold.

        And more.
        """
        return Done()

    @state(condition="Own", then="b", finalizer=True)
    async def waiting(self, obj: Any, out: OutputSet, ctx: Any = None) -> Result:  # noqa: D102
        return Done()

    @state()
    def optional(self, obj: Any, out: OutputSet, *, flag: bool = False) -> Result:
        """Hold."""
        return Done()

    def ordinary(self) -> None:
        """Be no state."""


def read(name: str) -> State:
    """The state that a method is."""
    method = getattr(Machine, name)
    declaration = declaration_of(method)
    assert declaration is not None
    assert signature_problem(method) is None
    return state_of(name, method, declaration)


def test_a_state_says_how_it_is_called() -> None:
    """Plain or asynchronous, with the context or without, and every edge once."""
    assert read("plain") == State("plain", "Plain", ("b", "c"), initial=True, summary="Hold.")
    assert read("waiting") == State(
        "waiting", "Own", ("b",), finalizer=True, takes_context=True, is_async=True
    )
    assert not read("optional").takes_context
    assert declaration_of(Machine.ordinary) is None


@pytest.mark.parametrize(
    ("name", "condition"),
    [("rolled_out", "RolledOut"), ("a", "A"), ("_x", "X"), ("allTLS_done", "AllTLSDone")],
)
def test_conditions_are_named_after_methods(name: str, condition: str) -> None:
    """In CamelCase, without touching what is there."""
    assert camel_case(name) == condition


def test_what_is_no_function_is_no_method() -> None:
    """A state is called with self."""
    assert signature_problem(Machine().plain) == "is not a method"
    assert signature_problem(int) == "is not a method"
