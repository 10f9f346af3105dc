"""Compile the checks of single values: type, format, limits and enumerations.

Each function runs once per schema node and returns the check that runs on every value, or None if
the schema does not restrict values in that respect.  The order of the checks, and the cases in
which they deviate from JSON schema, are those of the real server.
"""

from collections.abc import Callable
from math import isfinite, trunc
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import identical
from myrmidon.apiserver.golang import text as go_text
from myrmidon.apiserver.golang.regex import compile_pattern
from myrmidon.apiserver.refusals import causes
from myrmidon.apiserver.schema import formats, problems
from myrmidon.apiserver.schema.problems import Check, Problem, Report

KINDS: dict[type, tuple[str, str]] = {
    str: ("string", ""),
    int: ("integer", "int64"),
    float: ("number", "float64"),
    bool: ("boolean", ""),
    list: ("array", ""),
    dict: ("object", ""),
}
_INT64, _INT32 = (-(2**63), 2**63 - 1), (-(2**31), 2**31 - 1)
_FLOAT32_MAX = 3.4028235677973366e38  # larger values overflow a float32
_JSON_INTEGER_MAX = 2**53 - 1
_ALMOST = 1e-9


def types_of(source: Json) -> list[str]:
    """Return the types that a value may have; an empty list if it may have any."""
    if source.get("x-kubernetes-int-or-string"):
        return ["integer", "string"]
    return [source["type"]] if source.get("type") else []


def format_of(source: Json) -> str:
    """Return the format; "" if it is unknown or does not apply to the schema's type."""
    name, types = source.get("format") or "", types_of(source)
    type_name = types[0] if len(types) == 1 else ""
    return name if formats.is_recognized(name, type_name) else ""


def is_integral(value: float) -> bool:
    """Whether a float counts as an integer: almost no fraction, and exact in JSON (below 2**53)."""
    if not isfinite(value) or abs(value) > _JSON_INTEGER_MAX:
        return False
    whole = float(trunc(value))
    return value == whole or abs(value - whole) / (abs(value) + abs(whole)) < _ALMOST


def type_verdict(source: Json, kind: type, *, integral: bool) -> tuple[str, str] | None:
    """Return (expected type, actual type) if values of a Python type do not fit, else None."""
    types, name = types_of(source), format_of(source)
    found, found_format = KINDS[kind]
    if not types and not name:
        return None
    fits = (
        found in types
        or (kind is float and integral and "integer" in types)
        or (kind is int and "number" in types)
    )
    if name:
        if kind not in (str, list):
            if not fits and found_format != name:
                return name, found_format
        elif "number" not in types and "integer" not in types:
            return None  # the real server accepts a list for a string with a format
    return None if fits else (",".join(types), found)


def type_check(source: Json, kind: type) -> Check | None:
    """Return the check of the type, for values of a Python type."""
    verdict = type_verdict(source, kind, integral=False)
    if verdict is None:
        return _oversized_check(source) if kind is int else None
    expected, found = verdict
    may_be_integral = kind is float and type_verdict(source, kind, integral=True) is None

    def check(value: Any, path: str, _old: Any, report: Report) -> None:
        if may_be_integral and is_integral(value):
            return
        if may_be_integral:
            report.matches -= 1
        report.add(problems.wrong_type(path, expected, found))

    return check


def _oversized_check(source: Json) -> Check | None:
    """Return the check of integers that do not fit into 64 bits; to the server they are floats."""
    verdict = type_verdict(source, float, integral=False)
    if verdict is None:
        return None
    expected, found = verdict
    low, high = _INT64

    def check(value: Any, path: str, _old: Any, report: Report) -> None:
        if not low <= value <= high:
            report.matches -= 1
            report.add(problems.wrong_type(path, expected, found))

    return check


def string_check(source: Json) -> Check | None:
    """Return the check of length and pattern.  Only the first error is reported."""
    longest, shortest = source.get("maxLength"), source.get("minLength")
    pattern = source.get("pattern") or ""
    if longest is None and not shortest and not pattern:
        return None
    matches = compile_pattern(pattern).matches if pattern else None

    def check(value: Any, path: str, _old: Any, report: Report) -> None:
        if longest is not None and len(value) > longest:
            report.add(problems.too_long(path, longest))
        elif shortest is not None and len(value) < shortest:
            complaint = f"should be at least {shortest} chars long"
            report.add(problems.broken(path, value, complaint))
        elif matches is not None and not matches(value):
            report.add(problems.broken(path, value, f"should match '{pattern}'"))

    return check


def format_check(source: Json) -> Check | None:
    """Return the check of a string's format."""
    name = format_of(source)
    accepts = formats.string_format(name) if name else None
    if accepts is None:
        return None

    def check(value: Any, path: str, _old: Any, report: Report) -> None:
        if not accepts(value):
            report.add(problems.wrong_type(path, name, value))

    return check


def enum_check(source: Json) -> Check | None:
    """Return the check that a value is in the enumeration."""
    choices = source.get("enum") or []
    if not choices:
        return None
    words = frozenset(choice for choice in choices if isinstance(choice, str))
    others = [choice for choice in choices if not isinstance(choice, str)]

    def check(value: Any, path: str, _old: Any, report: Report) -> None:
        found = (
            value in words
            if type(value) is str
            else any(_equals_choice(value, each) for each in others)
        )
        if not found:
            report.add(problems.unlisted(path, value, choices))

    return check


def _equals_choice(value: Any, choice: Any) -> bool:
    """Whether a value equals a choice after Go's conversion to its type, which truncates."""
    if value is None or isinstance(value, bool) or isinstance(choice, bool):
        return value is not None and type(value) is type(choice) and bool(value == choice)
    if isinstance(value, int | float) and isinstance(choice, int | float):
        return type(choice)(value) == choice
    return identical(value, choice)


def number_check(source: Json) -> Check | None:
    """Return the check of the range of the type, multipleOf, minimum and maximum, in this order."""
    parts = [
        part
        for part in (
            _range_check(source),
            _multiple_check(source),
            _bound_check(source, "minimum"),
            _bound_check(source, "maximum"),
        )
        if part is not None
    ]
    if not parts:
        return None

    def check(value: Any, path: str, old: Any, report: Report) -> None:
        for part in parts:
            part(value, path, old, report)

    return check


def _fits_type(source: Json) -> Callable[[float], bool] | None:
    """Return a check of the range of a number's type, None if every number fits."""
    types, name = types_of(source), format_of(source)
    if types == ["integer"]:
        low, high = _INT32 if name == "int32" else _INT64
        return lambda value: (type(value) is int or value.is_integer()) and low <= value <= high
    if types == ["number"] and name == "float":
        return lambda value: abs(value) < _FLOAT32_MAX
    return None


def _out_of_range(source: Json, what: str, path: str) -> Problem:
    name = format_of(source)
    which = f"with format {name}" if name else "(default format)"
    return problems.combined(
        f"{what} value must be of type {types_of(source)[0]} {which} in {path}"
    )


def _range_check(source: Json) -> Check | None:
    fits = _fits_type(source)
    if fits is None:
        return None

    def check(value: Any, path: str, _old: Any, report: Report) -> None:
        if not fits(value):
            report.add(_out_of_range(source, "Checked", path))

    return check


def _bound_check(source: Json, which: str) -> Check | None:
    bound = source.get(which)
    if bound is None:
        return None
    fits = _fits_type(source)
    senseless = fits is not None and not fits(float(bound))
    lower, whole = which == "minimum", trunc(bound)
    exclusive = bool(source.get("exclusiveMinimum" if lower else "exclusiveMaximum"))
    order = ("greater" if lower else "less") + " than" + ("" if exclusive else " or equal to")

    def check(value: Any, path: str, _old: Any, report: Report) -> None:
        if senseless:
            report.add(_out_of_range(source, f"{which.capitalize()} boundary", path))
        limit = whole if type(value) is int and not senseless else bound
        beyond = value < limit if lower else value > limit
        if beyond or (exclusive and value == limit):
            complaint = f"should be {order} {go_text.number(limit)}"
            report.add(problems.broken(path, value, complaint))

    return check


def _multiple_check(source: Json) -> Check | None:
    factor = source.get("multipleOf")
    if factor is None:
        return None
    fits = _fits_type(source)
    senseless = fits is not None and not fits(float(factor))
    whole = trunc(factor)

    def check(value: Any, path: str, _old: Any, report: Report) -> None:
        if senseless:
            report.add(_out_of_range(source, "MultipleOf", path))
        step = whole if type(value) is int and not senseless else factor
        if step <= 0:
            text = f"factor MultipleOf declared for {path} must be positive: {go_text.number(step)}"
            report.add(_not_positive(path, step, text))
        elif not _is_multiple(value, step):
            complaint = f"should be a multiple of {go_text.number(step)}"
            report.add(problems.broken(path, value, complaint))

    return check


def _not_positive(path: str, step: float, text: str) -> Problem:
    return Problem(path, text, lambda field: causes.invalid(field, step, text))


def _is_multiple(value: float, step: float) -> bool:
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    return is_integral(1 / step * value if step < 1 else value / step)
