"""How a method becomes a state."""

from typing import Any

import pytest

from myrmidon.fsm import Done, Result, state
from myrmidon.fsm.machine.states import (
    State,
    camel_case,
    declaration_of,
    signature_problem,
    state_of,
)
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
        """A method that is not a state."""


def read(name: str) -> State:
    """Return the state that a method declares."""
    method = getattr(Machine, name)
    declaration = declaration_of(method)
    assert declaration is not None
    assert signature_problem(method) is None
    return state_of(name, method, declaration)


def test_a_state_says_how_it_is_called() -> None:
    """It knows whether it is asynchronous and takes the context; every edge is listed once."""
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
    """Names become CamelCase; capital letters that exist are kept."""
    assert camel_case(name) == condition


def test_an_object_that_is_not_a_function_is_not_a_state() -> None:
    """A state is called with self, so only functions are accepted."""
    assert signature_problem(Machine().plain) == "is not a method"
    assert signature_problem(int) == "is not a method"
