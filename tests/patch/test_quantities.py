"""Quantities as amounts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.patch import quantities
from myrmidon.patch.quantities import same_quantity
from tests.strategies import values


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("1000m", "1"), ("0.25", "250m"), (0.5, "500m"), (1, "1"), ("1Gi", "1024Mi"), ("1k", 1000),
        ("1e3", "1000"), ("1E3", "1k"), ("-1", "-1000m"), ("+1", "1"), (".5", "500m"), ("1.", "1"),
        ("1000000n", "1m"), ("1000u", "1m"), ("1E", "1000P"), ("1Ei", "1024Pi"), ("0", 0),
        ("auto", "auto"),
    ],
)  # fmt: skip
def test_a5_one_amount_has_many_spellings(left: Any, right: Any) -> None:
    """The server stores the shortest."""
    assert same_quantity(left, right)
    assert same_quantity(right, left)


@pytest.mark.parametrize(
    ("left", "right"),
    [("1", "2"), ("1Gi", "1G"), ("1", True), ("auto", "1"), ("1x", "1"), (None, 0), ("m", "1m")],
)
def test_a5_other_amounts_are_others(left: Any, right: Any) -> None:
    """What is not a quantity is compared as it is."""
    assert not same_quantity(left, right)


@given(amount=st.integers(-(10**9), 10**9), value=values())
def test_a5_scale_is_spelling(amount: int, value: Any) -> None:
    """Thousandths and units, for every amount; every value is itself."""
    assert same_quantity(f"{amount * 1000}m", amount)
    assert same_quantity(f"{amount * 1024}Mi", f"{amount}Gi")
    assert same_quantity(value, value)


@pytest.mark.parametrize(
    "text",
    ["1" * 100_000, "1" * 100_000 + "!", "." * 100_000, "1e" + "9" * 100_000, "1e99999999"],
    ids=["digits", "digits and more", "dots", "exponent", "large exponent"],
)
def test_a_long_quantity_is_compared_as_text(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Q8: nothing longer than a quantity can be is matched at all."""
    lengths: list[int] = []

    class Counting:
        def fullmatch(self, matched: str) -> Any:
            lengths.append(len(matched))
            return pattern.fullmatch(matched)

    pattern = quantities._QUANTITY
    monkeypatch.setattr(quantities, "_QUANTITY", Counting())

    assert same_quantity(text, text)
    assert not same_quantity(text, "1")
    assert max(lengths) <= 100


def test_an_integer_that_python_does_not_print_is_compared_as_it_is() -> None:
    """More than 4,300 digits."""
    assert same_quantity(10**5000, 10**5000)
    assert not same_quantity(10**5000, "1")
