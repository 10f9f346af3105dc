"""Numbers as Go has them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.apiserver.golang.json import decode, encode, same, settle_numbers

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
    """Whatever the form, it is the same number."""
    assert float(json.loads(encode([number]))[0]) == number


@given(FLOATS)
def test_settled_numbers_survive_the_storage(number: float) -> None:
    """What is stored is what comes back."""
    document = [number]
    settle_numbers(document)
    again = decode(encode(document))
    settle_numbers(again)
    assert same(document, again)


def test_zero_is_not_nought_point_nought() -> None:
    """The real server takes a patch from 0 to 0.0 for a change."""
    assert not same({"a": 0}, {"a": 0.0})
    assert not same([1], [True])
    assert same({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]})
