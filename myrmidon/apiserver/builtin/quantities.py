"""Quantities as Kubernetes writes them: ``1.5`` is ``1500m``, ``1024Mi`` is ``1Gi``.

A quantity keeps the family of its suffix (decimal, binary, exponent) and takes the largest suffix
of that family that leaves no fraction.  Numbers finer than a nano are rounded up.
"""

from decimal import ROUND_UP, Context, Decimal
from typing import NamedTuple

from myrmidon.apiserver.golang.quantities import BINARY, DECIMAL, read_quantity

_DECIMAL_SUFFIXES = {power: suffix for suffix, power in DECIMAL.items()}
_WIDE = Context(prec=60)

_LARGEST = Decimal(2**63 - 1)
_NANO = Decimal(1).scaleb(-9)


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
    parts = read_quantity(text)
    number = Decimal(parts.number)
    if parts.base == 2:
        amount, family = _WIDE.multiply(number, Decimal(2**parts.power)), "binary"
    else:
        amount = number.scaleb(parts.power, _WIDE)
        family = "exponent" if parts.is_exponent else "decimal"
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
    return f"{whole}{next((s for s, p in BINARY.items() if p == 10 * power), '')}"


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
