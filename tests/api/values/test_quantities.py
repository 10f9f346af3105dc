"""Quantities: read, written and compared as the API server does."""

import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.values import quantities
from myrmidon.api.values.quantities import (
    QUANTITY_PATTERN,
    QuantityError,
    is_quantity,
    parse_quantity,
    same_quantity,
)
from tests.strategies import values

SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "e3", "E-2"]
QUANTITIES = st.builds(
    lambda number, suffix: f"{number}{suffix}",
    st.integers(-(10**6), 10**6) | st.decimals(-1000, 1000, places=3),
    st.sampled_from(SUFFIXES),
)


@pytest.mark.parametrize(
    ("given_text", "written"),
    [
        ("1", "1"),
        ("1.0", "1"),
        ("1.5", "1500m"),
        ("0.5Gi", "512Mi"),
        ("1024Mi", "1Gi"),
        ("1000M", "1G"),
        ("1500M", "1500M"),
        ("1e3", "1e3"),
        ("1000000000", "1G"),
        ("0", "0"),
        ("0Mi", "0"),
        ("100m", "100m"),
        ("0.1m", "100u"),
        ("-1", "-1"),
        ("1023Ki", "1023Ki"),
        ("512", "512"),
        (".5", "500m"),
        # Recorded from kube-apiserver v1.36.4: large numbers are capped only with a binary suffix,
        # and a text that looks canonical is kept.
        ("1e30", "1e30"),
        ("1000E", "1"),
        ("10E", "10E"),
        ("9223372036854775808", "9223372036854775808"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1e19", "10e18"),
        ("1234e17", "123400e15"),
        ("1.2E21", "1200e18"),
        ("1.5e19", "1.5e19"),
        ("1.5e3", "1500"),
        ("1e1", "10"),
        ("1E3", "1E3"),
        ("3e-1", "300e-3"),
        ("100000000000000000000k", "100"),
        ("92233720368547758070m", "92233720368547758070m"),
        ("10Ei", "9223372036854775807"),
        ("1000Ei", "9223372036854775807"),
        ("7Ei", "7Ei"),
        ("1.5Ki", "1536"),
        ("0.001Ki", "1024m"),
        ("1500.5Ki", "1536512"),
        ("2000Ki", "2000Ki"),
        ("+1", "+1"),
        ("1.", "1."),
        ("00012k", "00012k"),
    ],
)
def test_a_quantity_has_one_form(given_text: str, written: str) -> None:
    """The largest suffix of its family that leaves no fraction."""
    assert str(parse_quantity(given_text)) == written


@pytest.mark.parametrize("text", ["", "x", "1KK", "1 ", "--1", "1.2.3", "1Kii", "Mi"])
def test_a_text_that_is_not_a_quantity_is_refused(text: str) -> None:
    """Each with one of the two messages of the API server."""
    with pytest.raises(QuantityError):
        parse_quantity(text)


@given(QUANTITIES)
def test_writing_keeps_the_amount(text: str) -> None:
    """A quantity may be written differently, but keeps its value."""
    assert parse_quantity(str(parse_quantity(text))).amount == parse_quantity(text).amount


@given(QUANTITIES)
def test_a_canonical_quantity_stays_as_it_is(text: str) -> None:
    """Otherwise an object would change each time it is read."""
    assert str(parse_quantity(str(parse_quantity(text)))) == str(parse_quantity(text))


@pytest.mark.parametrize(
    ("given_text", "rounded"),
    [
        ("0.1n", "1m"), ("1.0000000001", "1001m"), ("1e-10", "1e-3"), ("1e-99999", "1e-3"), ("-0.1m", "-1m"),
        ("12345678.123456789m", "12345679m"), ("0.0000000001Ki", "1m"), ("+1", "+1"), ("5m", "5m"),
    ],
)  # fmt: skip
def test_resource_amounts_are_rounded_up_to_thousandths(given_text: str, rounded: str) -> None:
    """Recorded from kube-apiserver v1.36.4; an amount that is not finer keeps its text."""
    assert str(parse_quantity(given_text).rounded_up(-3)) == rounded


@given(
    QUANTITIES
    | st.from_regex(re.compile(QUANTITY_PATTERN), fullmatch=True)
    | st.text("+-.012eEiKkm")
)
def test_the_pattern_of_schemas_accepts_exactly_the_quantities(text: str) -> None:
    """The server checks custom resources with the pattern alone."""
    fits = re.match(QUANTITY_PATTERN, text) is not None and not text.endswith("\n")
    assert is_quantity(text) is fits
    if not fits:
        with pytest.raises(QuantityError):
            parse_quantity(text)


@given(QUANTITIES)
def test_an_amount_is_mantissa_times_a_power_of_ten(text: str) -> None:
    """As a Decimal, exactly."""
    parsed = parse_quantity(text)
    assert parsed.amount == Decimal(parsed.mantissa) * Decimal(10) ** parsed.scale


@pytest.mark.parametrize(
    ("text", "is_big"),
    [("1" * 18, False), ("1" * 19, True), ("1n", False), ("0.1n", True), ("99Ti", False), ("999Ti", True), ("1.5Ki", True)],
)  # fmt: skip
def test_large_and_fine_quantities_are_big(text: str, is_big: bool) -> None:
    """The limits of ParseQuantity: 18 digits, nanos, and about 15 digits with a binary suffix."""
    assert parse_quantity(text).is_big is is_big


def test_a_number_of_any_length_has_a_value() -> None:
    """Digits beyond the 2,000th do not count, and exponents beyond 1,000 count as 1,000."""
    assert parse_quantity("9" * 100_000).amount > 10**1998
    assert parse_quantity("." + "9" * 100_000).amount == 1
    assert parse_quantity("1e" + "9" * 100_000).amount == 10**1000
    assert parse_quantity("1e-" + "9" * 100_000).amount == Decimal("1e-9")


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
    """Texts that are not quantities are compared as they are."""
    assert not same_quantity(left, right)


@given(amount=st.integers(-(10**9), 10**9), value=values())
def test_a5_scale_is_only_spelling(amount: int, value: Any) -> None:
    """Thousandths and units of every amount are equal; every value equals itself."""
    assert same_quantity(f"{amount * 1000}m", amount)
    assert same_quantity(f"{amount * 1024}Mi", f"{amount}Gi")
    assert same_quantity(value, value)


@pytest.mark.parametrize(
    "text",
    ["1" * 100_000, "1" * 100_000 + "!", "." * 100_000, "1e" + "9" * 100_000, "1e99999999"],
    ids=["digits", "digits and more", "dots", "exponent", "large exponent"],
)
def test_a_long_quantity_is_compared_as_text(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Q8: a text longer than any quantity is not matched at all."""
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
