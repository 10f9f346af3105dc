"""Amounts are written as Kubernetes writes them."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.apiserver.builtin.quantities import canonical, parse_quantity
from myrmidon.apiserver.golang.quantities import QuantityError

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
    ],
)
def test_a_quantity_has_one_form(given_text: str, written: str) -> None:
    """The largest suffix of its family that leaves no fraction."""
    assert canonical(given_text) == written


@pytest.mark.parametrize("text", ["", "x", "1KK", "1 ", "--1", "1.2.3", "1Kii", "Mi"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    """The message is Go's; here only that there is one."""
    with pytest.raises(QuantityError):
        parse_quantity(text)


@given(QUANTITIES)
def test_writing_keeps_the_amount(text: str) -> None:
    """A quantity may look different afterwards, but it is not another one."""
    assert parse_quantity(canonical(text)).amount == parse_quantity(text).amount


@given(QUANTITIES)
def test_a_canonical_quantity_stays_as_it_is(text: str) -> None:
    """Otherwise an object would change each time it is read."""
    assert canonical(canonical(text)) == canonical(text)


def test_more_than_64_bits_is_capped() -> None:
    """As Go does, which counts in int64."""
    assert parse_quantity("1e30").amount == Decimal(2**63 - 1)
