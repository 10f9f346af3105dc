"""Quantities as Kubernetes writes them: ``1.5`` is ``1500m``, ``1024Mi`` is ``1Gi``.

A quantity keeps the family of its suffix (decimal, binary, exponent) and takes the largest suffix
of that family that leaves no fraction.  Numbers finer than a nano are rounded up.
"""

import re
from decimal import ROUND_UP, Context, Decimal
from typing import NamedTuple

_FORM = re.compile(r"^([+-]?[0-9.]++)([eEinumkKMGTP]*[-+]?[0-9]*)$")
_NUMBER = re.compile(r"^[+-]?([0-9]++(?:\.[0-9]*+)?|\.[0-9]++)$")
_EXPONENT = re.compile(r"^[eE]([-+]?[0-9]{1,18})$")
_POWER_MAX = 1000  # a larger one makes every number too large or too small to tell

_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIXES = {power: suffix for suffix, power in _DECIMAL.items()}
_WIDE = Context(prec=60)

_LARGEST = Decimal(2**63 - 1)
_NANO = Decimal(1).scaleb(-9)


class QuantityError(ValueError):
    """A text that is no quantity; the message is Go's."""


class WrittenQuantity(NamedTuple):
    """An amount and the family of suffixes that it is written with."""

    amount: Decimal
    family: str  # decimal, binary or exponent

    def __str__(self) -> str:
        if self.family == "binary":
            return _written_binary(self.amount)
        return _written_decimal(self.amount, exponent=self.family == "exponent")


def parse_quantity(text: str) -> WrittenQuantity:
    """Read a quantity; raises ``QuantityError``."""
    match = _FORM.match(text)
    if match is None or not _NUMBER.match(match.group(1)):
        raise QuantityError(
            "quantities must match the regular expression "
            r"'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    number, suffix = Decimal(match.group(1)), match.group(2)
    if suffix in _BINARY:
        amount, family = _WIDE.multiply(number, Decimal(1024 ** _BINARY[suffix])), "binary"
    elif suffix in _DECIMAL:
        amount, family = number.scaleb(_DECIMAL[suffix], _WIDE), "decimal"
    elif exponent := _EXPONENT.match(suffix):
        power = max(-_POWER_MAX, min(_POWER_MAX, int(exponent.group(1))))
        amount, family = number.scaleb(power, _WIDE), "exponent"
    else:
        raise QuantityError("unable to parse quantity's suffix")
    amount = amount.quantize(_NANO, ROUND_UP, _WIDE) if abs(amount) < _LARGEST else amount
    return WrittenQuantity(max(min(amount, _LARGEST), -_LARGEST), family)


def canonical(text: str) -> str:
    """The text as Kubernetes writes it; raises ``QuantityError``."""
    return str(parse_quantity(text))


def rounded_to_milli(text: str) -> str:
    """Round up to thousandths, as resource amounts of pods are."""
    quantity = parse_quantity(text)
    amount = quantity.amount.quantize(Decimal(1).scaleb(-3), ROUND_UP, _WIDE)
    return str(WrittenQuantity(amount, quantity.family))


def _written_binary(amount: Decimal) -> str:
    if amount != amount.to_integral_value() or -1024 < amount < 1024:
        return _written_decimal(amount, exponent=False)
    whole, power = int(amount), 0
    while whole % 1024 == 0 and power < 6 and whole:
        whole, power = whole // 1024, power + 1
    return f"{whole}{next((s for s, p in _BINARY.items() if p == power), '')}"


def _written_decimal(amount: Decimal, *, exponent: bool) -> str:
    if not amount:
        return "0"
    power = -9
    mantissa = int(amount.scaleb(9, _WIDE))
    while mantissa % 1000 == 0 and power < 18:
        mantissa, power = mantissa // 1000, power + 3
    if exponent:
        return f"{mantissa}e{power}" if power else str(mantissa)
    return f"{mantissa}{_DECIMAL_SUFFIXES[power]}"
