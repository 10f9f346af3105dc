"""JSON as Go reads and writes it.

Go knows integers of 64 bits and floats, prints ``1.0`` as ``1`` and ``1e21`` as ``1e+21``.  What is
stored passes through text in the real server, so an integral float is an integer from then on.
Nearly all objects cost one call of orjson.  It prints some numbers in another way, and nothing that is
nested deeper than 254 levels; ``_write`` prints those, without recursion.

The real server reads JSON of up to 10,000 levels.  Here the limit is ``DEPTH_MAX``, in bodies and in
what is stored: functions that walk over an object call themselves, and Python's stack is limited.  Code
that walks over objects runs inside ``DeepStack``, which allows for so many levels.
"""

import re
import sys
from typing import Any

import orjson

DEPTH_MAX = 500
_OWN_LEVELS = 8  # of managedFields, around the same levels as in the object
_FRAMES_MAX = 8000  # for DEPTH_MAX levels of the functions that call themselves, with room to spare
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
        return _write(value)
    return _write(value) if _STRANGE.search(encoded) else encoded


def size_of(value: Any) -> int:
    """About how many bytes the value has as JSON: exact but for numbers that Go prints otherwise."""
    try:
        return len(orjson.dumps(value))
    except TypeError:
        return len(_write(value))


def decode(text: bytes) -> Any:
    """Read JSON; raises ``ValueError``.  Integers beyond 64 bits become floats, as in Go."""
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
    """A value is nested deeper than ``DEPTH_MAX`` levels; the message is that of Go's decoder."""

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
    """How many values there are in a value; parts that it holds twice are counted twice, but read once."""
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
    """A block inside which functions may call themselves ``DEPTH_MAX`` levels deep."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = sys.getrecursionlimit()
        if self._before < _FRAMES_MAX:
            sys.setrecursionlimit(_FRAMES_MAX)

    def __exit__(self, *_: object) -> None:
        if self._before < _FRAMES_MAX:
            sys.setrecursionlimit(self._before)


def as_unicode(text: bytes) -> str:
    """JSON with the replacement character where its bytes or escapes are not characters, as in Go."""
    decoded = text.decode("utf-8", "replace")
    if "\\u" not in decoded:
        return decoded
    return _ESCAPE.sub(lambda found: "\\ufffd" if found["alone"] else found[0], decoded)


def settle_numbers(value: Any, depth: int = 1) -> None:
    """Make numbers what they would be when they come back from the storage, in place.

    Parts that are shared with stored objects are left alone, as their numbers are settled already.
    Raises ``DepthError``: patches can make an object deeper than a body may be.
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
            return int(printed)  # what was printed is read again: shorter than the exact value
    if type(value) is int and value > _INT64_MAX:
        return float(value)
    return value


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


def _write(value: Any) -> bytes:
    """Print JSON without recursion, numbers as Go prints them."""
    parts: list[bytes] = []
    waiting: list[Any] = [
        value
    ]  # what is still to print, last first; bytes are printed as they are
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
