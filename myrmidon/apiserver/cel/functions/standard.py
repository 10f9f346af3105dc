"""Operators and standard functions of CEL.  Integer arithmetic fails on overflow."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from myrmidon.apiserver.cel.declarations import Overload, function, method
from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.literals import INT_MAX, INT_MIN, UINT_MAX
from myrmidon.apiserver.cel.times import checked_timestamp
from myrmidon.apiserver.cel.values import (
    Duration,
    MapList,
    SetList,
    Timestamp,
    TypeValue,
    Uint,
    Value,
    contains,
    equal,
    runtime_type,
)
from myrmidon.apiserver.golang.regex import PatternError, compile_pattern

_OVERFLOW = "integer overflow"


def _int(value: int) -> int:
    if INT_MIN <= value <= INT_MAX:
        return value
    raise CelEvaluationError(_OVERFLOW)


def _uint(value: int) -> Uint:
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    raise CelEvaluationError("unsigned integer overflow")


def add_int(left: int, right: int) -> int:
    """Return the sum; raise if it does not fit into 64 bits."""
    total = left + right
    if INT_MIN <= total <= INT_MAX:
        return total
    raise CelEvaluationError(_OVERFLOW)


def _quotient(left: int, right: int) -> int:
    """Return the quotient, rounded towards zero (Python rounds down)."""
    if right == 0:
        raise CelEvaluationError("division by zero")
    whole = abs(left) // abs(right)
    return whole if (left < 0) == (right < 0) else -whole


def _remainder(left: int, right: int) -> int:
    """Return the remainder, with the sign of the dividend (Python uses that of the divisor)."""
    if right == 0:
        raise CelEvaluationError("modulus by zero")
    if left == INT_MIN and right == -1:
        raise CelEvaluationError(_OVERFLOW)
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def _divide_doubles(left: float, right: float) -> float:
    try:
        return left / right
    except ZeroDivisionError:
        if left == 0 or left != left:  # noqa: PLR0124 - only NaN differs from itself
            return float("nan")
        negative = (left < 0) != (str(right)[0] == "-")
        return float("-inf") if negative else float("inf")


def duration(nanos: int) -> Duration:
    """Return a duration; raise if it does not fit into 64 bits."""
    return Duration(_int(nanos))


def _moved(moment: Timestamp, length: Duration) -> Timestamp:
    return checked_timestamp(moment.nanos + length.nanos, moment.offset)


def join_lists(left: list[Value], right: list[Value]) -> list[Value]:
    """Return the concatenation of two lists, or the union if the left one has a list type.

    If the left list is plain and either list is empty, the other one is returned as it is; the
    right one keeps its list type.
    """
    if isinstance(left, SetList | MapList):
        return left.plus(right)
    if not left or not right:
        return right or left
    return [*left, *right]


def in_map(key: Value, container: Mapping[Value, Value]) -> bool:
    """Whether the map has the key; false for a key of another kind."""
    return key in container


_ARITHMETIC = (
    function("add_bytes", "_+_(bytes, bytes) -> bytes", lambda a, b: a + b),
    function("add_double", "_+_(double, double) -> double", lambda a, b: a + b),
    function(
        "add_duration_duration",
        "_+_(duration, duration) -> duration",
        lambda a, b: duration(a.nanos + b.nanos),
    ),
    function(
        "add_duration_timestamp",
        "_+_(duration, timestamp) -> timestamp",
        lambda a, b: _moved(b, a),
    ),
    function("add_timestamp_duration", "_+_(timestamp, duration) -> timestamp", _moved),
    function("add_int64", "_+_(int, int) -> int", add_int),
    function("add_list", "_+_(list(A), list(A)) -> list(A)", join_lists),
    function("add_string", "_+_(string, string) -> string", lambda a, b: a + b),
    function("add_uint64", "_+_(uint, uint) -> uint", lambda a, b: _uint(int(a) + int(b))),
    function("subtract_double", "_-_(double, double) -> double", lambda a, b: a - b),
    function(
        "subtract_duration_duration",
        "_-_(duration, duration) -> duration",
        lambda a, b: duration(a.nanos - b.nanos),
    ),
    function("subtract_int64", "_-_(int, int) -> int", lambda a, b: _int(a - b)),
    function(
        "subtract_timestamp_duration",
        "_-_(timestamp, duration) -> timestamp",
        lambda a, b: _moved(a, Duration(-b.nanos)),
    ),
    function(
        "subtract_timestamp_timestamp",
        "_-_(timestamp, timestamp) -> duration",
        lambda a, b: duration(a.nanos - b.nanos),
    ),
    function("subtract_uint64", "_-_(uint, uint) -> uint", lambda a, b: _uint(int(a) - int(b))),
    function("multiply_double", "_*_(double, double) -> double", lambda a, b: a * b),
    function("multiply_int64", "_*_(int, int) -> int", lambda a, b: _int(a * b)),
    function("multiply_uint64", "_*_(uint, uint) -> uint", lambda a, b: _uint(int(a) * int(b))),
    function("divide_double", "_/_(double, double) -> double", _divide_doubles),
    function("divide_int64", "_/_(int, int) -> int", lambda a, b: _int(_quotient(a, b))),
    function("divide_uint64", "_/_(uint, uint) -> uint", lambda a, b: _uint(_quotient(a, b))),
    function("modulo_int64", "_%_(int, int) -> int", _remainder),
    function("modulo_uint64", "_%_(uint, uint) -> uint", lambda a, b: _uint(_remainder(a, b))),
    function("negate_double", "-_(double) -> double", lambda a: -a),
    function("negate_int64", "-_(int) -> int", lambda a: _int(-a)),
)

_COMPARABLE = (
    ("bool", "bool", "bool"),
    ("int64", "int", "int"),
    ("int64_double", "int", "double"),
    ("int64_uint64", "int", "uint"),
    ("uint64", "uint", "uint"),
    ("uint64_double", "uint", "double"),
    ("uint64_int64", "uint", "int"),
    ("double", "double", "double"),
    ("double_int64", "double", "int"),
    ("double_uint64", "double", "uint"),
    ("string", "string", "string"),
    ("bytes", "bytes", "bytes"),
    ("timestamp", "timestamp", "timestamp"),
    ("duration", "duration", "duration"),
)


def _ordered(check: Callable[[Any, Any], bool], left: Value, right: Value) -> bool:
    """Compare two values; raise if one of them is NaN."""
    if left != left or right != right:  # noqa: PLR0124 - only NaN differs from itself
        raise CelEvaluationError("NaN values cannot be ordered")
    return check(left, right)


def _comparisons(name: str, prefix: str, check: Callable[[Any, Any], bool]) -> list[Overload]:
    return [
        function(
            f"{prefix}_{suffix}",
            f"{name}({left}, {right}) -> bool",
            partial(_ordered, check) if "double" in (left, right) else check,
        )
        for suffix, left, right in _COMPARABLE
    ]


def _type_of(value: Value) -> TypeValue:
    return TypeValue(runtime_type(value))


_SIZED = (("bytes", "bytes"), ("list", "list(A)"), ("map", "map(A, B)"), ("string", "string"))


def _sizes() -> list[Overload]:
    made = []
    for word, sized in _SIZED:
        made.append(function(f"size_{word}", f"size({sized}) -> int", len))
        made.append(method(f"{word}_size", f"size({sized}) -> int", len))
    return made


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern matches anywhere in the string."""
    try:
        return compile_pattern(pattern).matches(text)
    except PatternError as error:
        raise CelEvaluationError(str(error)) from None


OVERLOADS = (
    function("logical_not", "!_(bool) -> bool", lambda a: not a),
    function("logical_and", "_&&_(bool, bool) -> bool", lambda a, b: a and b),
    function("logical_or", "_||_(bool, bool) -> bool", lambda a, b: a or b),
    function("not_strictly_false", "@not_strictly_false(bool) -> bool", lambda a: a),
    function("conditional", "_?_:_(bool, A, A) -> A", lambda a, b, c: b if a else c),
    function("equals", "_==_(A, A) -> bool", equal),
    function("not_equals", "_!=_(A, A) -> bool", lambda a, b: not equal(a, b)),
    *_ARITHMETIC,
    *_comparisons("_<_", "less", lambda a, b: a < b),
    *_comparisons("_<=_", "less_equals", lambda a, b: a <= b),
    *_comparisons("_>_", "greater", lambda a, b: a > b),
    *_comparisons("_>=_", "greater_equals", lambda a, b: a >= b),
    function("in_list", "@in(A, list(A)) -> bool", lambda a, b: contains(b, a)),
    function("in_map", "@in(A, map(A, B)) -> bool", in_map),
    *_sizes(),
    function("type", "type(A) -> type(A)", _type_of),
    function("to_dyn", "dyn(A) -> dyn", lambda a: a),
    method("contains_string", "contains(string, string) -> bool", lambda a, b: b in a),
    method("ends_with_string", "endsWith(string, string) -> bool", str.endswith),
    method("starts_with_string", "startsWith(string, string) -> bool", str.startswith),
    function("matches", "matches(string, string) -> bool", matches),
    method("matches_string", "matches(string, string) -> bool", matches),
)
