"""Compare quantities by amount: ``1000m`` equals ``1``, and the server stores the shorter form."""

import re
from decimal import Decimal
from typing import Any

from myrmidon.patch.merge_patch import same

_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def same_quantity(left: Any, right: Any) -> bool:
    """Whether both are the same amount; values that are not quantities are compared as JSON."""
    amounts = _amount(left), _amount(right)
    return same(left, right) if None in amounts else amounts[0] == amounts[1]


def _amount(value: Any) -> Decimal | None:
    found = _QUANTITY.fullmatch(str(value)) if isinstance(value, int | float | str) else None
    if found is None or isinstance(value, bool):
        return None
    number, suffix = Decimal(found[1]), found[2] or ""
    if suffix in _BINARY:
        return number * Decimal(2 ** _BINARY[suffix])
    if suffix in _DECIMAL:
        return number.scaleb(_DECIMAL[suffix])
    return number.scaleb(int(suffix[1:]))
