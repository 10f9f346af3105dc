"""Types of the Kubernetes API that Python does not have: quantities, durations, bytes, ports.

Each type converts to and from JSON, refuses the values that the server refuses, and carries the
schema (``OpenApi``) that makes the server refuse them.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import timedelta
from decimal import ROUND_CEILING, ROUND_UP, Context, Decimal
from functools import total_ordering
from typing import Annotated, Any, Self, TypeAlias

from pydantic import GetCoreSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

from myrmidon.api.typed.markers import OpenApi
from myrmidon.api.values.durations import DURATION_PATTERN, parse_duration, print_duration
from myrmidon.api.values.json_values import INT_MAX, INT_MIN
from myrmidon.api.values.quantities import (
    QuantityFormat,
    is_quantity,
    parse_quantity,
    write_quantity,
)

INT_OR_STRING: dict[str, Any] = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}

IntOrString: TypeAlias = Annotated[int | str, OpenApi(INT_OR_STRING)]
"""An integer or a string, such as a port by number or by name."""


class _Text:
    """How pydantic reads a type from JSON (``validate``) and writes it to JSON (``serialize``)."""

    def __init__(self, validate: Callable[[Any], Any], serialize: Callable[[Any], Any]) -> None:
        self._validate, self._serialize = validate, serialize

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self._validate,
            serialization=core_schema.plain_serializer_function_ser_schema(self._serialize),
        )


# ------------------------------------------------------------------------------ quantity

_NANO = Decimal(10) ** -9
_EXACT = Context(prec=200)
_BEYOND_SUFFIXES = Decimal(10) ** 21


@total_ordering
class Quantity:
    """An amount with a unit suffix: ``500m``, ``2Gi``, ``1e3``.

    Compares and computes by value: ``Quantity("1024Ki") == Quantity("1Mi")``.  ``str`` gives the
    canonical spelling that the server uses for its own kinds.  A quantity that was read is written
    back as it was read, because the server does not normalise those of custom resources.
    """

    __slots__ = ("_parsed", "_wire")

    def __init__(self, value: str | int | Decimal) -> None:
        self._wire: str | int | None = None
        self._parsed: tuple[Decimal, QuantityFormat] | None = (
            None  # on first use: most are only passed on
        )
        match value:
            case bool() | float():
                raise ValueError(f"{value!r} is not a quantity; write it as text, such as '500m'")
            case str():
                if not is_quantity(value):
                    raise ValueError(
                        f"{value!r} is not a quantity; write a number with a suffix, such as 500m or 2Gi"
                    )
                self._wire = value
            case int():
                self._wire = value
            case _:
                self._parsed = _rounded(value), "DecimalSI"

    @classmethod
    def _of(cls, value: Decimal, written: QuantityFormat) -> Self:
        made = cls(0)
        made._wire, made._parsed = None, (_rounded(value), written)
        return made

    def _parts(self) -> tuple[Decimal, QuantityFormat]:
        if self._parsed is None:
            parsed = parse_quantity(str(self._wire))
            self._parsed = parsed.amount, parsed.format
        return self._parsed

    @property
    def value(self) -> Decimal:
        """The amount as a number; ``500m`` is 0.5."""
        return self._parts()[0]

    @property
    def format(self) -> QuantityFormat:
        """The family of suffixes that it is written with."""
        return self._parts()[1]

    @property
    def wire(self) -> str | int:
        """The amount as it is written in JSON."""
        return str(self) if self._wire is None else self._wire

    def __str__(self) -> str:
        sign, digits, scale = self.value.as_tuple()
        assert isinstance(scale, int), "a quantity is finite"
        mantissa = int("".join(map(str, digits))) * (-1 if sign else 1)
        # The server writes 1000E as 1; an exponent says what is meant.
        is_huge = self.format == "DecimalSI" and abs(self.value) >= _BEYOND_SUFFIXES
        return write_quantity(mantissa, scale, "DecimalExponent" if is_huge else self.format)

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self.value == other.value

    def __lt__(self, other: "Quantity") -> bool:
        return self.value < other.value

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value.to_integral_value(ROUND_CEILING))  # rounded up, as the server does

    def __float__(self) -> float:
        return float(self.value)

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity._of(_EXACT.add(self.value, other.value), self.format)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity._of(_EXACT.subtract(self.value, other.value), self.format)

    def __mul__(self, factor: int | Decimal) -> "Quantity":
        return Quantity._of(_EXACT.multiply(self.value, Decimal(factor)), self.format)

    __rmul__ = __mul__

    def __truediv__(self, divisor: int | Decimal) -> "Quantity":
        return Quantity._of(_EXACT.divide(self.value, Decimal(divisor)), self.format)

    def __neg__(self) -> "Quantity":
        return Quantity._of(-self.value, self.format)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return _QUANTITY.__get_pydantic_core_schema__(source, handler)


def _validated_quantity(value: Any) -> Quantity:
    if isinstance(value, Quantity):
        return value
    is_int = isinstance(value, int) and not isinstance(value, bool) and INT_MIN <= value <= INT_MAX
    if is_int or isinstance(value, str):
        try:
            return Quantity(value)
        except ValueError:
            pass
    raise PydanticCustomError("quantity", "Input should be a quantity such as 500m, 2 or 1Gi")


def _wire_of(quantity: Quantity) -> str | int:
    return quantity.wire


_QUANTITY = _Text(_validated_quantity, _wire_of)


def _rounded(value: Decimal) -> Decimal:
    """Return the amount as the server stores it: rounded away from zero to 1n."""
    _, _, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"{value} is not a quantity; an amount is finite")  # noqa: TRY004 - not a type
    if exponent >= -9:
        return value
    return value.quantize(_NANO, rounding=ROUND_UP, context=Context(prec=len(str(value)) + 9))


# ------------------------------------------------------------------------------ duration


def _validated_duration(value: Any) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if isinstance(value, str):
        try:
            return parse_duration(value)
        except ValueError:
            pass
    raise PydanticCustomError("duration", "Input should be a duration such as 1h30m, 10s or 250ms")


Duration: TypeAlias = Annotated[
    timedelta,
    _Text(_validated_duration, print_duration),
    OpenApi({"type": "string", "pattern": DURATION_PATTERN}),
]
"""A ``timedelta`` that is written as ``1h30m`` in JSON."""

# --------------------------------------------------------------------------------- bytes

BASE64_PATTERN = r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
_BASE64 = re.compile(BASE64_PATTERN)


def _validated_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str) and _BASE64.match(value) and not value.endswith("\n"):
        return b64decode(value)
    raise PydanticCustomError("base64", "Input should be base64 with padding, such as aGVsbG8=")


def _base64_text(value: bytes) -> str:
    return b64encode(value).decode()


Base64: TypeAlias = Annotated[
    bytes,
    _Text(_validated_bytes, _base64_text),
    OpenApi({"type": "string", "pattern": BASE64_PATTERN}),
]
"""``bytes`` that are written as base64 text in JSON."""
