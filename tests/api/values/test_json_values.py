"""A value is written as JSON with the same meaning, or refused with its path."""

import enum
import json
from collections import UserDict, namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict

from myrmidon.api import Model, Quantity
from myrmidon.api.values.json_values import DEPTH_MAX, NotJsonError, encodable, json_value

ORDINARY = "use strings, numbers, booleans, None, lists and dicts with string keys"


class Color(enum.Enum):
    """Colors."""

    RED = "red"
    BAD = float("nan")


class Word(enum.StrEnum):
    """Words."""

    ONE = "one"


class Text(str):
    """A subclass of str."""

    __slots__ = ()


class Whole(int):
    """A subclass of int."""


class Share(float):
    """A subclass of float."""


class Part(Model):
    """A model of ours."""

    first_name: str = "a"
    free: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it


class Foreign(BaseModel):
    """A model of a user."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str = "a"


@dataclass
class Record:
    """A dataclass."""

    name: str = "a"


Pair = namedtuple("Pair", "a b")  # noqa: PYI024 - as untyped code has them


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, None),
        (True, True),
        (2**63 - 1, 2**63 - 1),
        (-(2**63), -(2**63)),
        (1.5, 1.5),
        ("ä😀", "ä😀"),
        ((1, [2]), [1, [2]]),
        (UserDict(a=1), {"a": 1}),
        ({Word.ONE: Word.ONE, Text("t"): Text("u")}, {"one": "one", "t": "u"}),
        (Color.RED, "red"),
        ([Whole(3), Share(1.5)], [3, 1.5]),
        (
            datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2))),
            "2026-01-02T01:04:05Z",
        ),
        (datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC), "2026-01-02T03:04:05.000006Z"),
        (date(2026, 1, 2), "2026-01-02"),
        (time(3, 4), "03:04:00"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Quantity("500m"), "500m"),
        (Part(first_name="b"), {"firstName": "b"}),
    ],
    ids=str,
)
def test_values_with_a_json_form_are_written(value: Any, written: Any) -> None:
    """As plain values of the types that a decoder returns."""
    made = json_value({"a": value})

    assert made == {"a": written}
    assert json.loads(json.dumps(made)) == made
    assert type(made["a"]) is type(written)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"x": [1, float("nan")]}, "spec.x[1] is nan, and JSON has no such number"),
        ({"x": Color.BAD}, "spec.x is nan, and JSON has no such number"),
        ({"a b": float("-inf")}, "spec['a b'] is -inf, and JSON has no such number"),
        (
            {"x": "\ud800"},
            "spec.x holds half of a surrogate pair, which has no UTF-8 encoding",
        ),
        (
            {"\ud800": 1},
            r"spec['\ud800'] holds half of a surrogate pair, which has no UTF-8 encoding",
        ),
        ({"x": 2**63}, "spec.x is an integer of more than 64 bits, which the server rounds"),
        ({"x": {1: 2}}, "spec.x has a key of type int, which is not a string"),
        ({"x": {1, 2}}, "spec.x is of type set, which JSON does not have"),
        ({"x": b"a"}, "spec.x is of type bytes, which JSON does not have"),
        ({"x": Decimal(1)}, "spec.x is of type Decimal, which JSON does not have"),
        ({"x": datetime(2026, 1, 1)}, "spec.x is a time without a time zone"),  # noqa: DTZ001
        ({"x": Foreign()}, "spec.x is of type Foreign, which JSON does not have"),
        ({"x": Record()}, "spec.x is of type Record, which JSON does not have"),
        ({"x": Pair(1, 2)}, "spec.x is of type Pair, which JSON does not have"),
        ({"x": object}, "spec.x is of type type, which JSON does not have"),
        (
            {"x": Part(free={"y": object()})},
            "spec.x.free.y is of type object, which JSON does not have",
        ),
        (
            {"x": Part(free={"y": float("nan")})},
            "spec.x.free.y is nan, and JSON has no such number",
        ),
    ],
    ids=range(17),
)
def test_values_without_a_json_form_are_refused_with_their_path(value: Any, told: str) -> None:
    """The error says what to write instead."""
    with pytest.raises(NotJsonError) as caught:
        json_value(value, "spec")

    assert str(caught.value) == told
    assert caught.value.fix


def test_each_refusal_has_a_fix_of_its_own() -> None:
    """If there is a usual way to write such a value."""
    fixes = {}
    for value in ({1}, b"a", Decimal(1), Foreign(), Record(), object()):
        with pytest.raises(NotJsonError) as caught:
            json_value(value, "x")
        fixes[type(value).__name__] = caught.value.fix

    assert fixes == {
        "set": "write sorted(...): a set has no order",
        "bytes": "decode it, or write base64.b64encode(...).decode()",
        "Decimal": "write str(...), or float(...) where the field is a number",
        "Foreign": "write .model_dump(mode='json', by_alias=True)",
        "Record": "write dataclasses.asdict(...)",
        "object": ORDINARY,
    }


def test_a_value_that_contains_itself_is_refused() -> None:
    """One that contains the same part twice, side by side, is accepted."""
    part: dict[str, Any] = {"a": 1}
    assert json_value({"x": part, "y": part}) == {"x": {"a": 1}, "y": {"a": 1}}

    part["again"] = [part]
    with pytest.raises(NotJsonError, match=r"x\.again\[0\] contains itself"):
        json_value({"x": part})


def test_depth_is_bounded() -> None:
    """Before Python's own limit is reached."""
    deep: Any = []
    for _ in range(DEPTH_MAX - 1):
        deep = [deep]

    assert json_value(deep) == deep
    with pytest.raises(NotJsonError, match=f"is nested deeper than {DEPTH_MAX} levels"):
        json_value([deep])


class Sour(Model):
    """A model whose to_wire always raises."""

    def to_wire(self, **_: Any) -> Any:
        """Raise."""
        raise RuntimeError("no")


def test_a_model_whose_to_wire_raises_is_reported() -> None:
    """If no field is the cause."""
    with pytest.raises(NotJsonError, match=r"^x cannot be written: no$"):
        json_value({"x": Sour()})


def test_the_encoder_is_given_a_value_or_an_error() -> None:
    """The fallback function of orjson; a separate walk finds the path."""
    assert encodable(Part(first_name="b")) == {"firstName": "b"}
    with pytest.raises(TypeError):
        encodable({1})
