"""Read and write JSON as Go does.

Go has 64-bit integers and floats, and prints ``1.0`` as ``1`` and ``1e21`` as ``1e+21``.  The real
server stores objects as text, so an integral float is an integer when it is read back
(``settle_numbers``).

Nearly all objects take one call of orjson.  orjson formats some numbers differently and refuses
values nested deeper than 254 levels; ``_write`` encodes those, without recursion.

The real server reads JSON of up to 10,000 levels.  The limit here is ``DEPTH_MAX``, for bodies and
for stored objects, because functions that walk over objects are recursive and Python's stack is
limited.  Such code runs inside ``DeepStack``, which raises the recursion limit.
"""

import re
import sys
from typing import Any

import orjson

DEPTH_MAX = 500
_OWN_LEVELS = 8  # levels of managedFields around the levels of the object
_FRAMES_MAX = 8000  # enough for recursive functions at DEPTH_MAX levels
_INT64_MAX = 2**63 - 1
_INT64_MIN = -(2**63)
# A number that orjson and Go print differently: with an exponent, or an integral float.
_UNLIKE_GO = re.compile(rb"[:,\[]-?\d[\d.]*(?:e|\.0[,\]}])")
# A surrogate pair, a lone surrogate, or any other escape.
_ESCAPE = re.compile(
    r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<alone>\\u[dD][89a-fA-F]..)|\\.", re.DOTALL
)


def encode(value: Any) -> bytes:
    """Return the value as compact JSON, with numbers as Go prints them."""
    try:
        encoded = orjson.dumps(value)
    except TypeError:
        return _write(value)
    return _write(value) if _UNLIKE_GO.search(encoded) else encoded


def size_of(value: Any) -> int:
    """Return the approximate size as JSON: exact except for numbers that Go prints differently."""
    try:
        return len(orjson.dumps(value))
    except TypeError:
        return len(_write(value))


def decode(text: bytes) -> Any:
    """Return the parsed JSON; raise ``ValueError``.  Integers beyond 64 bits become floats."""
    try:
        value = orjson.loads(text)
    except ValueError:
        mended = as_unicode(text)
        if mended == text.decode("utf-8", "surrogateescape"):
            raise
        value = orjson.loads(mended)
    if text.count(b"{") + text.count(b"[") > DEPTH_MAX:
        _check_depth(value)
    return value


class DepthError(ValueError):
    """The value is nested deeper than ``DEPTH_MAX`` levels; the message is that of Go's decoder."""

    def __init__(self) -> None:
        super().__init__("exceeded max depth")


def _check_depth(value: Any) -> None:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEPTH_MAX):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
    if level:
        raise DepthError


def count_values(value: Any, known: dict[int, int] | None = None) -> int:
    """Return the number of values in a value; shared parts count each time but are walked once."""
    known = {} if known is None else known
    if id(value) in known:
        return known[id(value)]
    count = 1
    if isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            count += count_values(child, known)
        known[id(value)] = count
    return count


class DeepStack:
    """A context manager that allows recursion over ``DEPTH_MAX`` levels."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = sys.getrecursionlimit()
        if self._before < _FRAMES_MAX:
            sys.setrecursionlimit(_FRAMES_MAX)

    def __exit__(self, *_: object) -> None:
        if self._before < _FRAMES_MAX:
            sys.setrecursionlimit(self._before)


def as_unicode(text: bytes) -> str:
    """Return JSON text, with invalid bytes and lone surrogates replaced by U+FFFD, as in Go."""
    decoded = text.decode("utf-8", "replace")
    if "\\u" not in decoded:
        return decoded
    return _ESCAPE.sub(lambda found: "\\ufffd" if found["alone"] else found[0], decoded)


def settle_numbers(value: Any, depth: int = 1) -> None:
    """Convert numbers to the values that they have after a round trip through storage, in place.

    Parts shared with stored objects do not change, because their numbers are already converted.
    Raise ``DepthError``: a patch can nest an object deeper than a body may be.
    """
    if depth > DEPTH_MAX + _OWN_LEVELS:
        raise DepthError
    if isinstance(value, dict):
        for key, item in value.items():
            kind = type(item)
            if kind is dict or kind is list:
                settle_numbers(item, depth + 1)
            elif kind is float or kind is int:
                value[key] = _number(item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            kind = type(item)
            if kind is dict or kind is list:
                settle_numbers(item, depth + 1)
            elif kind is float or kind is int:
                value[index] = _number(item)


def _number(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        printed = format_number(value)
        if "e" not in printed and _INT64_MIN <= int(printed) <= _INT64_MAX:
            return int(
                printed
            )  # storage keeps the printed digits, which are fewer than the exact value has
    if type(value) is int and value > _INT64_MAX:
        return float(value)
    return value


def format_number(value: float) -> str:
    """Return a float as Go's encoder prints it."""
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
    """Return a number without exponent, with the digits of its shortest form."""
    mantissa, _, exponent = text.partition("e")
    if not exponent:
        return text.removesuffix(".0")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits, point = whole + fraction, len(whole) + int(exponent)
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    return f"{sign}{digits.ljust(point, '0')}"


def _write(value: Any) -> bytes:
    """Encode JSON without recursion, with numbers as Go prints them."""
    parts: list[bytes] = []
    # A stack of the values still to encode; bytes are already encoded.
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, bytes):
            parts.append(item)
        elif isinstance(item, dict):
            parts.append(b"{")
            waiting.append(b"}")
            members = list(item.items())
            for index in range(len(members) - 1, -1, -1):
                key, child = members[index]
                waiting.append(child)
                waiting.append(b"%b%b:" % (b"," if index else b"", orjson.dumps(key)))
        elif isinstance(item, list):
            parts.append(b"[")
            waiting.append(b"]")
            for index in range(len(item) - 1, -1, -1):
                waiting.append(item[index])
                if index:
                    waiting.append(b",")
        else:
            parts.append(_scalar(item))
    return b"".join(parts)


def _scalar(value: Any) -> bytes:
    if type(value) is int and not _INT64_MIN <= value <= _INT64_MAX:
        value = float(value)
    return format_number(value).encode() if isinstance(value, float) else orjson.dumps(value)
