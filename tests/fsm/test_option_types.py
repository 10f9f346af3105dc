"""Values of the wrong type in options."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from myrmidon.fsm.declaration.option_types import mistyped


@dataclass
class Options:
    """Options of every type that is checked."""

    period: timedelta | None = None
    count: int = 1
    on: bool = False
    names: tuple[str, ...] = ()
    anything: Any = None


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        ({"period": 5}, "write period=timedelta(seconds=5)"),
        ({"period": "5m"}, "write period=timedelta(seconds=...)"),
        ({"count": 1.5}, "use a whole number"),
        ({"count": True}, "use a whole number"),
        ({"on": "yes"}, "use True or False"),
        ({"names": "a"}, "write names=('a',): a tuple has a comma"),
    ],
)
def test_a_value_of_the_wrong_type_is_found(given: dict[str, Any], fix: str) -> None:
    """With the field, and what to write instead."""
    assert list(mistyped(Options(**given))) == [(next(iter(given)), fix)]


def test_values_of_the_right_type_are_accepted() -> None:
    """None where it is allowed, and any value where the type is not checked."""
    right = Options(timedelta(seconds=1), 2, on=True, names=("a",), anything="x")

    assert list(mistyped(right)) == []
    assert list(mistyped(Options())) == []
