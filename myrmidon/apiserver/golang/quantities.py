"""The syntax of Kubernetes quantities: ``1.5``, ``500m``, ``2Gi``, ``1e3``.

A quantity is a number and a suffix.  The suffix is a power of ten or of two, or an exponent.  Two places
compute with quantities, each in the way of its model in the real server: ``builtin.quantities`` writes the
canonical form of fields, and ``cel.functions.quantity`` is the type of validation rules.
"""

import re
from typing import NamedTuple

from myrmidon.apiserver.golang.numbers import read_int

DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_FORM = re.compile(r"([+-]?)([0-9]*+)(?:(\.)([0-9]*+))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")
_DIGITS_MAX = 2000
_POWER_MAX = 1000  # of ten; a larger one makes every number too large or too small to tell


class QuantityError(ValueError):
    """A text that is not a quantity; the message is Go's."""


class QuantityParts(NamedTuple):
    """A number, written as ``whole.fraction``, times ``base`` to the ``power``."""

    negative: bool
    whole: str
    fraction: str
    base: int  # 2 or 10
    power: int
    is_exponent: bool  # written as 1e3

    @property
    def number(self) -> str:
        """The number without its power."""
        return f"{'-' if self.negative else ''}{self.whole or '0'}.{self.fraction or '0'}"


def read_quantity(text: str) -> QuantityParts:
    """The parts of a quantity; raises ``QuantityError``."""
    found = _FORM.fullmatch(text)
    if found is None or not (found[2] or found[4]) or len(found[2]) > _DIGITS_MAX:
        raise QuantityError(
            "quantities must match the regular expression "
            r"'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    base, power, is_exponent = _suffix(found[5])
    fraction = (found[4] or "")[:_DIGITS_MAX]
    return QuantityParts(found[1] == "-", found[2], fraction, base, power, is_exponent)


def _suffix(suffix: str) -> tuple[int, int, bool]:
    if suffix in DECIMAL:
        return 10, DECIMAL[suffix], False
    if suffix in BINARY:
        return 2, BINARY[suffix], False
    found = _EXPONENT.fullmatch(suffix)
    if found is None:
        raise QuantityError("unable to parse quantity's suffix")
    return 10, max(-_POWER_MAX, min(_POWER_MAX, read_int(found[1]))), True
