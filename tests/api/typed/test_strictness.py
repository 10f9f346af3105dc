"""Values are accepted and refused as by the API server."""

import re
from datetime import UTC, date, datetime
from enum import IntEnum
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError, create_model

from myrmidon.api import Base64, Duration, IntOrString, Model, Quantity
from myrmidon.api.typed.strictness import ascii_classes


class Level(IntEnum):
    """Numbers to choose from."""

    LOW = 1


def one_field(annotation: Any, default: Any = ...) -> Any:
    """Define a model with one field."""
    return create_model("One", __base__=Model, value=(annotation, default))


def takes(annotation: Any, value: Any) -> bool:
    """Whether a field of that type accepts the value from the wire."""
    try:
        one_field(annotation).from_wire({"value": value})
    except ValidationError:
        return False
    return True


def named(cases: list[tuple[Any, Any]]) -> list[str]:
    """Return names of cases that are the same in every process: types may print their addresses."""
    return [f"{number} {value!r}" for number, (_, value) in enumerate(cases)]


TAKEN: list[tuple[Any, Any]] = [
    (int, 1), (int, 1.0), (int, -(2**63)), (float, 1), (float, 1.5), (str, "1"), (bool, True),
    (datetime, "2030-01-31T12:00:00Z"), (datetime, "2030-01-31t12:00:00.123456789+02:00"), (date, "2028-02-29"), (datetime, "2030-01-31T12:00:00,5Z"),
    (Quantity, "1.5Gi"), (Quantity, 5), (Quantity, ".5"), (IntOrString, 80), (IntOrString, "http"), (IntOrString, 80.0),
    (Duration, "1h30m"), (Duration, "0"), (Duration, "-1.5s"), (Base64, "aGVsbG8="), (Base64, ""),
    (Level, 1), (Literal[1, 2], 2), (Literal[1, 2], 1.0), (list[int], [1, 2.0]), (dict[str, int], {"a": 1}),
    (int | None, None),
]  # fmt: skip
REFUSED: list[tuple[Any, Any]] = [
    (int, "1"), (int, True), (int, 1.5), (int, 2**63), (int, 1e18), (int, [1]), (float, "1"), (float, True), (str, 1), (str, None), (bool, "true"),
    (bool, 0), (datetime, "2030-01-31T12:00:00"), (datetime, "2030-01-31 12:00:00Z"), (datetime, "2030-02-30T12:00:00Z"),
    (datetime, "2030-01-31T12:00Z"), (datetime, 1893456000), (datetime, "1893456000"), (date, "2030-02-29"), (date, "2030-1-31"),
    (date, "2030-01-31T00:00:00Z"), (Quantity, 1.5), (Quantity, True), (Quantity, "1 Gi"), (Quantity, ""), (Quantity, 2**63), (Quantity, "1e1.5"),
    (IntOrString, 1.5), (IntOrString, True), (IntOrString, None), (Duration, "PT1H"), (Duration, "1"), (Duration, "1d"), (Duration, 60),
    (Base64, "a"), (Base64, "aGVs\n"), (Base64, "_-=="), (Level, True), (Level, "1"), (Literal[1, 2], True), (list[int], "12"), (list[int], [None]),
    (dict[str, int], []),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "value"), TAKEN, ids=named(TAKEN))
def test_accepts_what_the_server_accepts(annotation: Any, value: Any) -> None:
    """An object that the server has stored must not be quarantined."""
    assert takes(annotation, value)


@pytest.mark.parametrize(("annotation", "value"), REFUSED, ids=named(REFUSED))
def test_refuses_what_the_server_refuses(annotation: Any, value: Any) -> None:
    """A value that Python accepts and the server refuses would fail late, in a write."""
    assert not takes(annotation, value)


def test_null_in_a_field_that_is_not_nullable_counts_as_absent() -> None:
    """The server drops it, or fills in the default (FACTS 26)."""
    read = one_field(int, 3).from_wire({"value": None})

    assert read.value == 3
    assert read.to_wire() == {}
    assert not takes(int, None)  # absent, and required


def test_a_time_without_a_zone_is_refused_where_it_is_set() -> None:
    """The server would refuse it later."""
    with pytest.raises(ValidationError, match="timezone"):
        one_field(datetime)(value=datetime(2030, 1, 31))  # noqa: DTZ001 - that is the point
    made = one_field(datetime)(value=datetime(2030, 1, 31, tzinfo=UTC))
    assert made.to_wire() == {"value": "2030-01-31T00:00:00Z"}


PATTERNS = st.sampled_from([r"^\d+$", r"^\w+$", r"^[\w.-]+$", r"^[^\d]+$", r"^\S+\s\D$", r"^[[]+$", r"^[]a]+$", r"^[^]a]+$", r"^[a&&b]+$", r"^[[:alpha:]]+$", r"\bab\b", r"^[\D]+$", r"^a\[b\]$"])  # fmt: skip
SAMPLES = st.text(alphabet="ab1_[]&.- \u0663é\n", max_size=4)


@given(pattern=PATTERNS, text=SAMPLES)
def test_classes_of_characters_are_ascii(pattern: str, text: str) -> None:
    r"""RE2 gives ``\d`` ten characters and ``[`` in a class no meaning; pydantic's engine differs."""
    model = create_model("One", __base__=Model, value=(str, Field(pattern=pattern)))
    try:
        model.from_wire({"value": text})
    except ValidationError:
        taken = False
    else:
        taken = True
    python = (
        pattern.replace("[[:alpha:]]", "[A-Za-z]")
        .replace("[[]", r"[\[]")
        .replace("[a&&b]", "[a&b]")
    )
    python = python[:-1] + r"\Z" if python.endswith("$") else python

    assert taken == bool(re.search(python, text, re.ASCII))


def test_patterns_without_classes_stay_as_they_are() -> None:
    """Messages show the pattern as it was written."""
    for pattern in (r"^[a-z]([-a-z0-9]*[a-z0-9])?$", r"^\.x\\$", "a{2,3}|b+?", r"^[\]a]$"):
        assert ascii_classes(pattern) == pattern
