"""Quantities, durations and bytes."""

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api import Base64, Duration, Model, Quantity
from myrmidon.api.values.durations import parse_duration, print_duration

NUMBERS = st.builds(lambda sign, whole, part: f"{sign}{whole}{part}", st.sampled_from(["", "-", "+"]), st.integers(0, 10**9), st.sampled_from(["", ".", ".5", ".125", ".0001", ".000000001"]))  # fmt: skip
SUFFIXES = st.sampled_from(
    ["", "n", "u", "m", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "e3", "E-3", "e0"]
)
TEXTS = st.builds(lambda number, suffix: number + suffix, NUMBERS, SUFFIXES)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1024Ki", "1Mi"), ("0.5Gi", "512Mi"), ("1500m", "1500m"), ("1.5k", "1500"), ("1000", "1k"), ("0.1", "100m"), ("100E", "100E"), ("1000E", "1e21"),
        ("1e3", "1e3"), ("1e4", "10e3"), ("12e5", "1200e3"), ("1.5e-10", "1e-9"), ("-1.5Gi", "-1536Mi"), ("0.1Ki", "102400m"), ("1023Ki", "1023Ki"),
        ("0", "0"), ("0Gi", "0"), ("-0", "0"), ("5.", "5"), (".5", "500m"), ("1E", "1E"), ("+1", "1"), ("100n", "100n"), ("0.1n", "1n"), ("1e999999999", "10e999"), ("100Ei", "9223372036854775807"),
    ],
)  # fmt: skip
def test_prints_as_kubernetes_does(text: str, canonical: str) -> None:
    """The largest suffix that leaves no fraction, in the family that it was written in."""
    assert str(Quantity(text)) == canonical


@given(text=TEXTS)
def test_printing_keeps_the_value_and_settles(text: str) -> None:
    """The canonical form has the same value, and is its own canonical form.

    Except for a binary quantity that is not a multiple of 1024, as in Kubernetes: it is printed
    without a suffix, and read again it is a decimal one.
    """
    printed = str(Quantity(text))

    assert Quantity(printed) == Quantity(text)
    if Quantity(printed).format == Quantity(text).format:
        assert str(Quantity(printed)) == printed


@given(one=TEXTS, other=TEXTS)
def test_compares_and_computes_by_value(one: str, other: str) -> None:
    """With any suffixes."""
    left, right = Quantity(one), Quantity(other)

    assert (left < right) == (left.value < right.value)
    assert (left + right).value == left.value + right.value or abs(left.value + right.value) > 2**62
    assert (left == right) == (hash(left) == hash(right) and left.value == right.value)
    assert left - left == Quantity(0)


def test_arithmetic_keeps_the_family_of_the_left_side() -> None:
    """An amount of memory keeps its binary suffix."""
    assert str(Quantity("1Gi") + Quantity("512Mi")) == "1536Mi"
    assert str(Quantity("1Gi") * 2) == "2Gi"
    assert str(3 * Quantity("500m")) == "1500m"
    assert str(Quantity("1") / 4) == "250m"
    assert str(-Quantity("1Ki")) == "-1Ki"
    assert int(Quantity("1500m")) == 2
    assert float(Quantity("1500m")) == 1.5
    assert Quantity(Decimal("0.25")).wire == "250m"


def test_computed_amounts_have_no_upper_bound() -> None:
    """A sum is written so that it can be read again; an infinite number is refused."""
    total = Quantity("900E") + Quantity("100E")
    assert (total.wire, Quantity(total.wire)) == ("1e21", Quantity("1e21"))
    with pytest.raises(ValueError, match="is not a quantity"):
        Quantity(Decimal("inf"))


@pytest.mark.parametrize("value", ["", "x", "1 Gi", "1gi", "--1", "1e", 1.5, True])
def test_a_value_that_is_not_a_quantity_is_refused(value: object) -> None:
    """A float would carry its rounding error into the cluster."""
    with pytest.raises(ValueError, match="is not a quantity"):
        Quantity(value)  # type: ignore[arg-type]


def test_a_quantity_is_written_as_it_was_read() -> None:
    """The server keeps the text in custom resources; another spelling would be a change."""

    class Sized(Model):
        size: Quantity

    for text in ("1024Mi", 5, "1.0", "1e3"):
        assert Sized.from_wire({"size": text}).to_wire() == {"size": text}
    assert Sized(size=Quantity("1024Mi") + Quantity("0")).to_wire() == {"size": "1Gi"}


@given(microseconds=st.integers(-(10**15), 10**15))
def test_durations_survive_a_round_trip(microseconds: int) -> None:
    """To the microsecond, which is what a timedelta holds."""
    duration = timedelta(microseconds=microseconds)

    assert parse_duration(print_duration(duration)) == duration


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("90m", "1h30m0s"),
        ("1.5s", "1.5s"),
        ("250ms", "250ms"),
        ("0", "0s"),
        ("-1h", "-1h0m0s"),
        ("100us", "100us"),
        ("61s", "1m1s"),
        ("1500us", "1.5ms"),
    ],
)
def test_durations_are_printed_as_go_does(text: str, printed: str) -> None:
    """As kubectl users know them."""
    assert print_duration(parse_duration(text)) == printed


def test_bytes_and_durations_on_the_wire() -> None:
    """Text on the wire, Python values in the model."""

    class Both(Model):
        key: Base64
        every: Duration

    read = Both.from_wire({"key": "aGVsbG8=", "every": "90s"})

    assert (read.key, read.every) == (b"hello", timedelta(seconds=90))
    assert Both(key=b"hello", every=timedelta(seconds=90)).to_wire() == {
        "key": "aGVsbG8=",
        "every": "1m30s",
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e" + "9" * 10_000, "1e1000"),
        ("1e-" + "9" * 10_000, "1n"),
        ("1e" + "0" * 10_000 + "3", "1000"),
        ("1e0", "1"),
        ("0e99999", "0"),
    ],
    ids=["large", "small", "zeros", "zero", "nothing"],
)
def test_an_exponent_of_any_length_has_a_value(text: str, value: str) -> None:
    """Python itself refuses to read a number of more than 4,300 digits."""
    assert Quantity(text) == Quantity(value)


def test_an_amount_finer_than_a_nano_is_rounded_away_from_zero() -> None:
    """As the server stores it."""
    assert Quantity(Decimal("0.0000000001")) == Quantity("1n")
    assert Quantity(Decimal("-0.0000000011")) == Quantity("-2n")
