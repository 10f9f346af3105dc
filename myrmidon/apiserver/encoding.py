"""JSON as Go reads and writes it.

Go knows integers of 64 bits and floats, prints ``1.0`` as ``1`` and ``1e21`` as ``1e+21``.  What is
stored passes through text in the real server, so an integral float is an integer from then on.
Objects that hold no strange number, which is nearly all of them, cost one call of orjson.
"""

import re
from typing import Any

import orjson

_INT64_MAX = 2**63 - 1
_INT64_MIN = -(2**63)
# A number that orjson prints in another way than Go: with an exponent, or integral with a point.
_STRANGE = re.compile(rb"[:,\[]-?\d[\d.]*(?:e|\.0[,\]}])")
# A pair of surrogates, one alone, or any other escape.
_ESCAPE = re.compile(
    r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<alone>\\u[dD][89a-fA-F]..)|\\.", re.DOTALL
)


def encode(value: Any) -> bytes:
    """The value as compact JSON, numbers as Go prints them."""
    try:
        encoded = orjson.dumps(value)
    except TypeError:
        return orjson.dumps(_as_go_prints(value))
    if _STRANGE.search(encoded):
        return orjson.dumps(_as_go_prints(value))
    return encoded


def decode(text: bytes) -> Any:
    """Read JSON; raises ``ValueError``.  Integers beyond 64 bits become floats, as in Go."""
    try:
        return orjson.loads(text)
    except ValueError:
        mended = as_unicode(text)
        if mended == text.decode("utf-8", "surrogateescape"):
            raise
        return orjson.loads(mended)


def as_unicode(text: bytes) -> str:
    """JSON with the replacement character where its bytes or escapes are no characters, as in Go."""
    decoded = text.decode("utf-8", "replace")
    if "\\u" not in decoded:
        return decoded
    return _ESCAPE.sub(lambda found: "\\ufffd" if found["alone"] else found[0], decoded)


def settle_numbers(value: Any) -> None:
    """Make numbers what they would be when they come back from the storage, in place.

    Parts that are shared with stored objects are left alone, as their numbers are settled already.
    """
    if isinstance(value, dict):
        for key, item in value.items():
            kind = type(item)
            if kind is dict or kind is list:
                settle_numbers(item)
            elif kind is float or kind is int:
                value[key] = _number(item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            kind = type(item)
            if kind is dict or kind is list:
                settle_numbers(item)
            elif kind is float or kind is int:
                value[index] = _number(item)


def _number(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        printed = format_number(value)
        if "e" not in printed and _INT64_MIN <= int(printed) <= _INT64_MAX:
            return int(printed)  # what was printed is read again: shorter than the exact value
    if type(value) is int and value > _INT64_MAX:
        return float(value)
    return value


def same(one: Any, other: Any) -> bool:
    """Equality that tells ``0`` from ``0.0`` and ``1`` from ``true``, as Go does."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def format_number(value: float) -> str:
    """A float as Go's encoder prints it."""
    if value == 0:
        return "0"
    size = abs(value)
    if 1e-6 <= size < 1e21:
        if value.is_integer():
            return _expanded(repr(value))
        return _expanded(repr(value)) if "e" in repr(value) else repr(value)
    mantissa, _, exponent = repr(value).partition("e")
    mantissa = mantissa.removesuffix(".0")
    sign = "-" if exponent.startswith("-") else "+"
    return f"{mantissa}e{sign}{exponent.lstrip('+-').lstrip('0')}"


def _expanded(text: str) -> str:
    """A number written without an exponent, with the digits that its shortest form has."""
    mantissa, _, exponent = text.partition("e")
    if not exponent:
        return text.removesuffix(".0")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits, point = whole + fraction, len(whole) + int(exponent)
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    return f"{sign}{digits.ljust(point, '0')}"


def _as_go_prints(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_go_prints(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_go_prints(item) for item in value]
    if type(value) is int and not _INT64_MIN <= value <= _INT64_MAX:
        value = float(value)
    if isinstance(value, float):
        return orjson.Fragment(format_number(value))
    return value
