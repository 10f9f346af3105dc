"""Compare quantities by amount: ``1000m`` equals ``1``, and the server stores the shorter form."""

import re
from decimal import Decimal
from typing import Any

from myrmidon.api.values.equality import same

_QUANTITY = re.compile(
    r"([+-]?(?:\d++(?:\.\d*+)?|\.\d++))([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d++)?", re.ASCII
)
_CHARACTERS_MAX = 100  # the server holds 28 digits; what is longer is compared as text
_BITS_MAX = 64
_EXPONENT_MAX = 1000
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def same_quantity(left: Any, right: Any) -> bool:
    """Whether both are the same amount; values that are not quantities are compared as JSON."""
    amounts = _amount(left), _amount(right)
    return same(left, right) if None in amounts else amounts[0] == amounts[1]


def _amount(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, int) and value.bit_length() > _BITS_MAX:
        return None  # Python refuses to print the largest of them
    text = str(value)
    found = _QUANTITY.fullmatch(text) if len(text) <= _CHARACTERS_MAX else None
    if found is None:
        return None
    number, suffix = Decimal(found[1]), found[2] or ""
    if suffix in _BINARY:
        return number * Decimal(2 ** _BINARY[suffix])
    if suffix in _DECIMAL:
        return number.scaleb(_DECIMAL[suffix])
    exponent = int(suffix[1:])
    return number.scaleb(exponent) if abs(exponent) <= _EXPONENT_MAX else None
