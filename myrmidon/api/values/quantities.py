"""Kubernetes quantities: ``1.5``, ``500m``, ``2Gi``, ``1e3``.

A quantity is a number and a suffix: a power of ten (``m``, ``k``, ``G``), a power of two (``Ki``,
``Gi``) or an exponent (``e3``).  The three families are its *format*, and a sum keeps the format of
its left side.  This module is the only one that reads and writes quantities.  It follows
``ParseQuantity`` of k8s.io/apimachinery, which has two ways to keep an amount:

- an integer of 64 bits times a power of ten, for numbers of up to 18 digits (fewer with a binary
  suffix) that are not finer than a nano;
- a decimal of any size (``is_big``) for all others.  It is rounded away from zero to nanos, and with
  a binary suffix it is capped at 2**63-1.  Only CEL shows that there are two ways: a big quantity is
  not an integer, whatever its value.

Written, a quantity has the largest suffix of its format that leaves no fraction: ``1.5`` is written
as ``1500m`` and ``1024Mi`` as ``1Gi``.  A text that has this form already is kept, and the check is
a rough one, so ``+1`` and ``012k`` are kept as well.

Two limits protect the process: numbers of more than 2,000 digits are cut, and exponents beyond 1,000
count as 1,000.
"""

import re
from decimal import Context, Decimal
from typing import Any, Literal, NamedTuple

from myrmidon.api.values.equality import same

QuantityFormat = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

QUANTITY_PATTERN = r"^([+-])?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"
_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?=\.?[0-9])(?P<whole>[0-9]*+)(?:\.(?P<fraction>[0-9]*+))?"
    r"(?:(?P<binary>[KMGTPE]i)|(?P<decimal>[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]++))?"
)
_NUMBER = re.compile(r"[+-]?(?=\.?[0-9])[0-9]*+(?:\.[0-9]*+)?[eEinumkKMGTP]*[-+]?[0-9]*")
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIXES = {power: suffix for suffix, power in _DECIMAL.items()}
_FINEST = -9
_INT64_MAX = 2**63 - 1
_DIGITS_MAX = 2000
_EXPONENT_MAX = 1000
_COMPARED_CHARACTERS_MAX = 100  # a longer text is compared as text
_COMPARED_BITS_MAX = 64
_WIDE = Context(prec=2 * (_DIGITS_MAX + _EXPONENT_MAX))


class QuantityError(ValueError):
    """A text that is not a quantity; the message is the API server's."""


class ParsedQuantity(NamedTuple):
    """An amount, ``mantissa * 10**scale``, and the format that it is written in."""

    mantissa: int
    scale: int
    format: QuantityFormat
    is_big: bool
    """Whether Go keeps it as a decimal of any size."""
    text: str
    """The text that it was read from, if that counts as canonical; otherwise ""."""

    @property
    def amount(self) -> Decimal:
        """The amount as a number; ``500m`` is 0.5."""
        return Decimal(self.mantissa).scaleb(self.scale, _WIDE)

    def __str__(self) -> str:
        return self.text or write_quantity(self.mantissa, self.scale, self.format)

    def rounded_up(self, scale: int) -> "ParsedQuantity":
        """Return the quantity rounded away from zero to units of ``10**scale``."""
        if not self.is_big and self.scale >= scale:
            return self
        mantissa, scale = _rounded(self.mantissa, self.scale, scale)
        return self._replace(mantissa=mantissa, scale=scale, text="")


def is_quantity(text: str) -> bool:
    """Whether the text is a quantity."""
    return _QUANTITY.fullmatch(text) is not None


def parse_quantity(text: str) -> ParsedQuantity:
    """Read a quantity; raises ``QuantityError``."""
    found = _QUANTITY.fullmatch(text)
    if found is None:
        if _NUMBER.fullmatch(text):
            raise QuantityError("unable to parse quantity's suffix")
        raise QuantityError(
            "quantities must match the regular expression "
            r"'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    whole = found["whole"].lstrip("0")[:_DIGITS_MAX] or "0"
    fraction = (found["fraction"] or "")[:_DIGITS_MAX]
    sign = -1 if found["sign"] == "-" else 1
    if binary := found["binary"]:
        return _parse_binary(text, sign, whole, fraction, _BINARY[binary])
    if found["exponent"]:
        power, written = _exponent(found["exponent"]), "DecimalExponent"
    else:
        power, written = _DECIMAL[found["decimal"] or ""], "DecimalSI"
    return _parse_decimal(text, sign, whole + fraction, power - len(fraction), written)


def _parse_decimal(text: str, sign: int, digits: str, scale: int, written: Any) -> ParsedQuantity:
    value = sign * int(digits)
    if len(digits) > 18 or scale < _FINEST:
        return ParsedQuantity(*_rounded(value, scale, _FINEST), written, is_big=True, text="")
    is_canonical = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    kept = text if is_canonical or text == "0" else ""
    return ParsedQuantity(value, scale, written, is_big=False, text=kept)


def _parse_binary(text: str, sign: int, whole: str, fraction: str, power: int) -> ParsedQuantity:
    value = sign * int(whole + fraction) << power
    if not fraction and 15 - len(whole) - power * 3 // 10 - 1 >= 0:
        kept = text if int(whole) % 8 else ""
        return ParsedQuantity(value, 0, "BinarySI", is_big=False, text=kept)
    value, scale = _rounded(value, -len(fraction), _FINEST)
    one = 10**-scale
    if abs(value) > _INT64_MAX * one:
        return ParsedQuantity(sign * _INT64_MAX, 0, "BinarySI", is_big=True, text="")
    written: QuantityFormat = "DecimalSI" if 0 < abs(value) < one else "BinarySI"
    return ParsedQuantity(value, scale, written, is_big=True, text="")


def _exponent(text: str) -> int:
    """Read an exponent of any length as one between -1000 and 1000."""
    digits = text.lstrip("+-0")[:4] or "0"  # four digits, if there are more, exceed the bounds
    exponent = min(int(digits), _EXPONENT_MAX)
    return -exponent if text.startswith("-") else exponent


def _rounded(mantissa: int, scale: int, finest: int) -> tuple[int, int]:
    """Return mantissa and scale, rounded away from zero to ``finest`` if they are finer."""
    if scale >= finest:
        return mantissa, scale
    unit = 10 ** (finest - scale)
    whole = -(-abs(mantissa) // unit)
    return (whole if mantissa > 0 else -whole), finest


def write_quantity(mantissa: int, scale: int, written: QuantityFormat) -> str:
    """Return the canonical form of an amount that is not finer than a nano.

    Like the API server, it writes an amount beyond the largest decimal suffix without a suffix:
    ``1000E`` is written as ``1``.
    """
    if not mantissa:
        return "0"
    if written == "BinarySI":
        value, rest = _whole(mantissa, scale)
        if not rest and abs(value) >= 1024:
            return _binary_text(value)
    while mantissa % 10 == 0:
        mantissa, scale = mantissa // 10, scale + 1
    mantissa, scale = mantissa * 10 ** (scale % 3), scale - scale % 3
    if written == "DecimalExponent":
        return f"{mantissa}e{scale}" if scale else str(mantissa)
    return f"{mantissa}{_SUFFIXES.get(scale, '')}"


def _whole(mantissa: int, scale: int) -> tuple[int, int]:
    """Return the integer part of an amount, and a rest that is 0 if it is an integer."""
    return (mantissa * 10**scale, 0) if scale >= 0 else divmod(mantissa, 10**-scale)


def _binary_text(value: int) -> str:
    power = 0
    while value % 1024 == 0 and power < 60:
        value, power = value // 1024, power + 10
    return f"{value}{next((suffix for suffix, at in _BINARY.items() if at == power), '')}"


def same_quantity(left: Any, right: Any) -> bool:
    """Whether both are the same amount; values that are not quantities are compared as JSON."""
    amounts = _amount(left), _amount(right)
    return same(left, right) if None in amounts else amounts[0] == amounts[1]


def _amount(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, int) and value.bit_length() > _COMPARED_BITS_MAX:
        return None  # Python refuses to print the largest of them
    text = str(value)
    if len(text) > _COMPARED_CHARACTERS_MAX or not is_quantity(text):
        return None
    return parse_quantity(text).amount
