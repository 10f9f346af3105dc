"""What a manager and a harness accept as a controller."""

from typing import Any

import pytest

from myrmidon.errors import UsageError
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.misuse.instances import check_is_controller
from tests.fsm.things import Thing


class Base(Controller[Thing], abstract=True):
    """A base class without states."""


@pytest.mark.parametrize(
    ("value", "problem", "fix"),
    [
        (Base, "the class Base, not an object of it", "write Base(), with the arguments"),
        (Base(), "an object of Base, which is an abstract class", "pass an object of a subclass"),
        (int, "int, which is not a controller", "pass an object of a class that derives from"),
        (7, "7, which is not a controller", "pass an object of a class that derives from"),
    ],
)
def test_a_value_that_cannot_be_run(value: Any, problem: str, fix: str) -> None:
    """The message says what it is and what to write instead."""
    with pytest.raises(UsageError) as error:
        check_is_controller(value, "Harness")
    assert str(error.value).startswith(f"Harness got {problem}")
    assert f"\n  fix: {fix}" in str(error.value)
