"""Conversions of types: ``int('3')``, ``string(1.5)``, ``timestamp('2021-01-01T00:00:00Z')``."""

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from myrmidon.apiserver.cel.declarations import function
from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.literals import INT_MAX, INT_MIN, UINT_MAX
from myrmidon.apiserver.cel.times import (
    SECOND,
    checked_timestamp,
    parse_duration,
    parse_timestamp,
    print_duration,
    print_timestamp,
)
from myrmidon.apiserver.cel.types import RUNTIME_NAMES
from myrmidon.apiserver.cel.values import Duration, Timestamp, Uint, Value
from myrmidon.apiserver.golang.numbers import read_int

_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))
_FALSE = frozenset(("0", "f", "F", "false", "FALSE", "False"))
_DIGITS = re.compile(r"[0-9]+")
_SIGNED = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(
    r"[+-]?(?:(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:e[+-]?[0-9]+)?|inf(?:inity)?)|nan",
    re.IGNORECASE,
)


def format_double(value: float) -> str:
    """Return the shortest exact digits; with an exponent below 1e-4 and from 1e6 on."""
    if not math.isfinite(value):
        return {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN")
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    sign, digits, power = Decimal(repr(value)).normalize().as_tuple()
    text = "".join(map(str, digits))
    assert isinstance(power, int)
    exponent = len(text) + power - 1
    if -4 <= exponent < 6:
        return format(Decimal((sign, digits, power)), "f")
    fraction = f".{text[1:]}" if len(text) > 1 else ""
    mark = "-" if exponent < 0 else "+"
    return f"{'-' * sign}{text[0]}{fraction}e{mark}{abs(exponent):02d}"


def _impossible(source: str, target: str) -> CelEvaluationError:
    wanted = RUNTIME_NAMES.get(target, target)
    return CelEvaluationError(f"type conversion error from '{source}' to '{wanted}'")


def _reading(target: str, parse: Callable[[str], Any]) -> Callable[[str], Value]:
    """Return a conversion from a string; a ``ValueError`` of ``parse`` becomes the error of CEL."""

    def read(text: str) -> Value:
        try:
            return parse(text)
        except ValueError:
            raise _impossible("string", target) from None

    return read


def _bool(text: str) -> bool:
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise ValueError(text)


def _int(text: str) -> int:
    if _SIGNED.fullmatch(text) and INT_MIN <= read_int(text) <= INT_MAX:
        return int(text)
    raise ValueError(text)


def _uint(text: str) -> Uint:
    if _DIGITS.fullmatch(text) and read_int(text) <= UINT_MAX:
        return Uint(text)
    raise ValueError(text)


def _double(text: str) -> float:
    plain = re.sub(r"(?<=[0-9])_(?=[0-9])", "", text)
    if re.match(r"[+-]?0x", plain, re.IGNORECASE) and "p" in plain.lower():
        return float.fromhex(plain)
    value = float(plain) if _DECIMAL.fullmatch(plain) else None
    if value is None or (math.isinf(value) and "inf" not in plain.lower()):
        raise ValueError(text)
    return value


def _double_to_int(value: float) -> int:
    if not -(2.0**63) < value < 2.0**63:
        raise CelEvaluationError("integer overflow")
    return int(value)


def _double_to_uint(value: float) -> Uint:
    if not 0 <= value < 2.0**64:
        raise CelEvaluationError("unsigned integer overflow")
    return Uint(value)


def _uint_to_int(value: Uint) -> int:
    if value > INT_MAX:
        raise CelEvaluationError("integer overflow")
    return int(value)


def _int_to_uint(value: int) -> Uint:
    if value < 0:
        raise CelEvaluationError("unsigned integer overflow")
    return Uint(value)


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise CelEvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def _int_to_duration(_: int) -> Value:
    raise _impossible("int", "duration")


def _int_to_timestamp(value: int) -> Timestamp:
    return checked_timestamp(value * SECOND, 0)


def _text_to_timestamp(text: str) -> Timestamp:
    moment = parse_timestamp(text)
    return checked_timestamp(moment.nanos, moment.offset)


def to_text(value: Value) -> str:
    """Return ``string(value)``."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float():
            return format_double(value)
        case bytes():
            return _decode(value)
        case Timestamp():
            return print_timestamp(value)
        case Duration():
            return print_duration(value)
        case _:
            assert isinstance(value, str)
            return value


def _same(value: Value) -> Value:
    return value


# Calls of these with a constant are evaluated when the rule is compiled.
FOLDED = frozenset(("bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"))

OVERLOADS = (
    function("bool_to_bool", "bool(bool) -> bool", _same),
    function("string_to_bool", "bool(string) -> bool", _reading("bool", _bool)),
    function("bytes_to_bytes", "bytes(bytes) -> bytes", _same),
    function("string_to_bytes", "bytes(string) -> bytes", str.encode),
    function("double_to_double", "double(double) -> double", _same),
    function("int64_to_double", "double(int) -> double", float),
    function("string_to_double", "double(string) -> double", _reading("double", _double)),
    function("uint64_to_double", "double(uint) -> double", float),
    function("duration_to_duration", "duration(duration) -> duration", _same),
    function("int64_to_duration", "duration(int) -> duration", _int_to_duration),
    function(
        "string_to_duration", "duration(string) -> duration", _reading("duration", parse_duration)
    ),
    function("int64_to_int64", "int(int) -> int", _same),
    function("double_to_int64", "int(double) -> int", _double_to_int),
    function("duration_to_int64", "int(duration) -> int", lambda value: value.nanos),
    function("string_to_int64", "int(string) -> int", _reading("int", _int)),
    function("timestamp_to_int64", "int(timestamp) -> int", lambda value: value.nanos // SECOND),
    function("uint64_to_int64", "int(uint) -> int", _uint_to_int),
    function("string_to_string", "string(string) -> string", _same),
    function("bool_to_string", "string(bool) -> string", to_text),
    function("bytes_to_string", "string(bytes) -> string", to_text),
    function("double_to_string", "string(double) -> string", to_text),
    function("duration_to_string", "string(duration) -> string", to_text),
    function("int64_to_string", "string(int) -> string", to_text),
    function("timestamp_to_string", "string(timestamp) -> string", to_text),
    function("uint64_to_string", "string(uint) -> string", to_text),
    function("timestamp_to_timestamp", "timestamp(timestamp) -> timestamp", _same),
    function("int64_to_timestamp", "timestamp(int) -> timestamp", _int_to_timestamp),
    function(
        "string_to_timestamp",
        "timestamp(string) -> timestamp",
        _reading("timestamp", _text_to_timestamp),
    ),
    function("uint64_to_uint64", "uint(uint) -> uint", _same),
    function("double_to_uint64", "uint(double) -> uint", _double_to_uint),
    function("int64_to_uint64", "uint(int) -> uint", _int_to_uint),
    function("string_to_uint64", "uint(string) -> uint", _reading("uint", _uint)),
)
