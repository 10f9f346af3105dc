"""Numbers as Go reads and prints them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.values.equality import identical
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.golang.json import decode, encode, settle_numbers
from myrmidon.apiserver.golang.numbers import HUGE, read_int

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("1.0", "1"),
        ("1e3", "1000"),
        ("9223372036854775807", "9223372036854775807"),
        ("9223372036854775808", "9223372036854776000"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("1e20", "100000000000000000000"),
        ("1e21", "1e+21"),
        ("1.5e300", "1.5e+300"),
        ("1e-6", "0.000001"),
        ("1.25e-7", "1.25e-7"),
        ("0.1", "0.1"),
        ("-0.5", "-0.5"),
    ],
)
def test_numbers_are_printed_as_go_prints_them(text: str, printed: str) -> None:
    """Recorded from the real server, or from Go."""
    document = decode(f'{{"n":{text}}}'.encode())
    settle_numbers(document)
    assert encode(document) == f'{{"n":{printed}}}'.encode()


@given(FLOATS)
def test_printing_loses_nothing(number: float) -> None:
    """In any form, it is the same number."""
    assert float(json.loads(encode([number]))[0]) == number


@given(FLOATS)
def test_settled_numbers_survive_the_storage(number: float) -> None:
    """A stored number is read back unchanged."""
    document = [number]
    settle_numbers(document)
    again = decode(encode(document))
    settle_numbers(again)
    assert identical(document, again)


def nested(depth: int) -> str:
    """Build a list of so many levels, with a bracket inside a string."""
    return "[" * depth + '"[[["' + "]" * depth


@pytest.mark.parametrize("depth", [1, 254, 255, 256, go_json.DEPTH_MAX])
def test_deep_values_survive(depth: int) -> None:
    """The encoder of orjson prints 254 levels at most."""
    text = nested(depth).encode()

    assert go_json.encode(go_json.decode(text)) == text
    assert go_json.size_of(go_json.decode(text)) == len(text)


def test_values_beyond_the_limit_are_refused() -> None:
    """With the message of Go; many brackets that are not nested are accepted."""
    with pytest.raises(go_json.DepthError, match="exceeded max depth"):
        go_json.decode(nested(go_json.DEPTH_MAX + 1).encode())

    assert len(go_json.decode(b"[" + b",".join([b"[]"] * 2000) + b"]")) == 2000


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12),
        ("-" + "0" * 5000 + "7", -7),
        ("0" * 5000, 0),
        ("9" * 5000, HUGE),
        ("-" + "9" * 5000, -HUGE),
    ],
)
def test_any_number_of_digits_is_read(text: str, number: int) -> None:
    """Python itself refuses more than 4,300."""
    assert read_int(text) == number


def test_a_long_text_that_is_not_a_number() -> None:
    """It is refused like a short one."""
    with pytest.raises(ValueError, match="is not a number"):
        read_int("x" * 100)
