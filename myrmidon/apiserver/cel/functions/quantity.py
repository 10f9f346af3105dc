"""Quantities: ``quantity('1.5Gi').isGreaterThan(quantity('1G'))``.

A quantity is an integer times a power of ten.  The API server stores very large and very precise
quantities in another form (``big``), and does not count those as integers, whatever their value.
"""

from functools import cache

from myrmidon.api.values.quantities import QuantityError, is_quantity, parse_quantity
from myrmidon.apiserver.cel.declarations import function, method
from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.literals import INT_MAX, INT_MIN
from myrmidon.apiserver.cel.values import NO_OVERLOAD, Opaque, Value


class QuantityValue(Opaque):
    """A parsed or computed quantity."""

    __slots__ = ("big", "computed", "mantissa", "scale")
    type_name = "kubernetes.Quantity"

    def __init__(
        self, mantissa: int, scale: int, *, big: bool = False, computed: bool = False
    ) -> None:
        self.mantissa, self.scale, self.big, self.computed = mantissa, scale, big, computed

    def equals(self, other: Value) -> bool:
        """Whether the amounts are equal.

        As in the real library, a computed quantity on the right side is an error.
        """
        if not isinstance(other, QuantityValue) or other.computed:
            raise CelEvaluationError(NO_OVERLOAD)
        return self.compare(other) == 0

    def at(self, scale: int) -> int:
        """Return the value in units of ``10**scale``; ``scale`` must not exceed its own."""
        return int(self.mantissa * 10 ** (self.scale - scale))

    def compare(self, other: "QuantityValue") -> int:
        """Return -1, 0 or 1 if the quantity is less than, equal to or greater than the other."""
        scale = min(self.scale, other.scale)
        mine, yours = self.at(scale), other.at(scale)
        return (mine > yours) - (mine < yours)

    def integer(self) -> int | None:
        """Return the value if it is stored as a 64-bit integer, otherwise None."""
        if self.big or self.scale < 0:
            return None
        value = self.at(0)
        return value if _fits(value) else None

    def plus(self, other: "QuantityValue", sign: int = 1) -> "QuantityValue":
        """Return the sum, or with ``sign=-1`` the difference."""
        scale = min(self.scale, other.scale)
        mine, yours = self.at(scale), other.at(scale)
        if not self.big and not other.big:
            if other.mantissa == 0:
                return QuantityValue(self.mantissa, self.scale, computed=True)
            if self.mantissa == 0:
                return QuantityValue(sign * other.mantissa, other.scale, computed=True)
        total = mine + sign * yours
        big = self.big or other.big or not all(map(_fits, (mine, yours, total)))
        return QuantityValue(total, scale, big=big, computed=True)


def _fits(value: int) -> bool:
    return INT_MIN <= value <= INT_MAX


@cache
def _power_of_ten(exponent: int) -> float:
    return float(f"1e{exponent}")


def _quantity(text: str) -> QuantityValue:
    try:
        parsed = parse_quantity(text)
    except QuantityError as error:
        raise CelEvaluationError(str(error)) from None
    return QuantityValue(parsed.mantissa, parsed.scale, big=parsed.is_big)


def _as_integer(quantity: QuantityValue) -> int:
    value = quantity.integer()
    if value is None:
        raise CelEvaluationError("cannot convert value to integer")
    return value


def _as_float(quantity: QuantityValue) -> float:
    return float(quantity.mantissa) * _power_of_ten(quantity.scale)


_Q = QuantityValue.type_name
OVERLOADS = (
    function("string_to_quantity", f"quantity(string) -> {_Q}", _quantity),
    function("is_quantity_string", "isQuantity(string) -> bool", is_quantity),
    function("quantity_sign", f"sign({_Q}) -> int", lambda q: (q.mantissa > 0) - (q.mantissa < 0)),
    method(
        "quantity_is_greater_than",
        f"isGreaterThan({_Q}, {_Q}) -> bool",
        lambda a, b: a.compare(b) > 0,
    ),
    method(
        "quantity_is_less_than", f"isLessThan({_Q}, {_Q}) -> bool", lambda a, b: a.compare(b) < 0
    ),
    method("quantity_compare_to", f"compareTo({_Q}, {_Q}) -> int", QuantityValue.compare),
    method("quantity_get_float", f"asApproximateFloat({_Q}) -> double", _as_float),
    method("quantity_get_int", f"asInteger({_Q}) -> int", _as_integer),
    method("quantity_is_integer", f"isInteger({_Q}) -> bool", lambda q: q.integer() is not None),
    method("quantity_add", f"add({_Q}, {_Q}) -> {_Q}", QuantityValue.plus),
    method("quantity_add_int", f"add({_Q}, int) -> {_Q}", lambda q, n: q.plus(QuantityValue(n, 0))),
    method("quantity_sub", f"sub({_Q}, {_Q}) -> {_Q}", lambda a, b: a.plus(b, -1)),
    method(
        "quantity_sub_int", f"sub({_Q}, int) -> {_Q}", lambda q, n: q.plus(QuantityValue(n, 0), -1)
    ),
)
