"""Lists of quantities by resource name, as in ``spec.hard`` and ``resources.requests``: sums, maxima, texts."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from myrmidon.api.values.quantities import parse_quantity, write_quantity

Amounts: TypeAlias = Mapping[str, str]


def plus(left: str, right: str, sign: int = 1) -> str:
    """Return the sum of two quantities, in the format of the left one unless that is zero."""
    one, other = parse_quantity(left), parse_quantity(right)
    scale = min(one.scale, other.scale)
    total = one.mantissa * 10 ** (one.scale - scale)
    total += sign * other.mantissa * 10 ** (other.scale - scale)
    return write_quantity(total, scale, one.format if one.mantissa else other.format)


def add(left: Amounts, right: Amounts, sign: int = 1) -> dict[str, str]:
    """Return the sums (with ``sign=-1`` the differences) of two lists; a missing amount is 0."""
    total = dict(left)
    for name, amount in right.items():
        total[name] = plus(total.get(name, "0"), amount, sign)
    return total


def maximum(left: Amounts, right: Amounts) -> dict[str, str]:
    """Return the larger amount of each name."""
    larger = {name: value for name, value in right.items() if is_more(value, left.get(name))}
    return {**left, **larger}


def is_more(amount: str, than: str | None) -> bool:
    """Whether an amount is more than another; every amount is more than a missing one."""
    return than is None or parse_quantity(amount).amount > parse_quantity(than).amount


def is_zero(amount: str) -> bool:
    """Whether the amount is 0."""
    return not parse_quantity(amount).mantissa


def only(amounts: Amounts, names: Iterable[str]) -> dict[str, str]:
    """Return the amounts of these names."""
    return {name: amounts[name] for name in names if name in amounts}


def printed(amounts: Amounts) -> str:
    """Return the amounts as error messages have them: ``pods=1,requests.cpu=500m``."""
    return ",".join(f"{name}={amounts[name]}" for name in sorted(amounts))
