"""String formatting: ``'%s is %d'.format([name, n])``.

``read_format`` parses a format.  It is used twice: when a rule is compiled, to check a constant
format against the types of its arguments (``validators``), and when the rule runs.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.functions.conversions import to_text
from myrmidon.apiserver.cel.times import print_duration, print_timestamp
from myrmidon.apiserver.cel.values import (
    Duration,
    Timestamp,
    TypeValue,
    Uint,
    Value,
    entries,
    kind_of,
    runtime_type,
)
from myrmidon.apiserver.golang.numbers import read_int
from myrmidon.apiserver.golang.text import quote

DEFAULT_PRECISION = 6
_SUPERSCRIPT = str.maketrans(
    "-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
)
_CLAUSE = re.compile(r"(\.([0-9]*))?(.?)", re.DOTALL)
_BAD_CLAUSE = "could not parse formatting clause: "
_PRECISION_MAX = 1000  # not in the real server: all digits would be written out
_BAD_PRECISION = f"{_BAD_CLAUSE}error while parsing precision: "

# The types that each clause accepts, and the error message for other types.
ACCEPTED: dict[str, tuple[frozenset[str], str]] = {
    "s": (
        frozenset(
            (
                *("list", "map", "int", "uint", "double", "bool", "string", "bytes"),
                *("timestamp", "duration", "type", "null"),
            )
        ),
        (
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
            "types, durations, and timestamps, was given "
        ),
    ),
    "d": (
        frozenset(("int", "uint")),
        "decimal clause can only be used on integers, was given ",
    ),
    "f": (
        frozenset(("double", "string")),
        "fixed-point clause can only be used on doubles, was given ",
    ),
    "e": (
        frozenset(("double", "string")),
        "scientific clause can only be used on doubles, was given ",
    ),
    "b": (
        frozenset(("int", "uint", "bool")),
        "only integers and bools can be formatted as binary, was given ",
    ),
    "x": (
        frozenset(("int", "uint", "string", "bytes")),
        "only integers, byte buffers, and strings can be formatted as hex, was given ",
    ),
    "o": (
        frozenset(("int", "uint")),
        "octal clause can only be used on integers, was given ",
    ),
}
ACCEPTED["X"] = ACCEPTED["x"]


class Clause(NamedTuple):
    """A clause such as ``%.3f``, and the index of its argument."""

    letter: str
    precision: int
    at: int


def read_format(text: str, count: int) -> Iterator[str | Clause]:
    """Yield the parts of a format for ``count`` arguments; raise if it is malformed."""
    at = index = 0
    while (mark := text.find("%", at)) >= 0:
        yield text[at:mark]
        at = mark + 1
        if text.startswith("%", at):
            yield "%"
            at += 1
            continue
        if at >= len(text) and index < count:
            raise CelEvaluationError("unexpected end of string")
        if index >= count:
            raise CelEvaluationError(f"index {index} out of range")
        clause, at = _read_clause(text, at, index)
        yield clause
        index += 1
    yield text[at:]


def _read_clause(text: str, at: int, index: int) -> tuple[Clause, int]:
    found = _CLAUSE.match(text, at)
    assert found is not None, "every part of it may be missing"
    dotted, digits, letter = found.groups()
    if dotted is not None and not letter:
        raise CelEvaluationError(f"{_BAD_PRECISION}could not find end of precision specifier")
    if dotted is not None and not digits:
        raise CelEvaluationError(
            f"{_BAD_PRECISION}error while converting precision to integer: "
            'strconv.Atoi: parsing "": invalid syntax'
        )
    if letter not in ACCEPTED:
        raise CelEvaluationError(f'{_BAD_CLAUSE}unrecognized formatting clause "{letter}"')
    precision = read_int(digits) if digits else DEFAULT_PRECISION
    if precision > _PRECISION_MAX:
        raise CelEvaluationError(f"{_BAD_PRECISION}precision is larger than {_PRECISION_MAX}")
    return Clause(letter, precision, index), found.end()


def format_values(text: str, values: list[Value]) -> str:
    """Return the format with the values of its clauses filled in."""
    return "".join(
        part if isinstance(part, str) else _fill(part, values[part.at])
        for part in read_format(text, len(values))
    )


def _fill(clause: Clause, value: Value) -> str:
    kinds, complaint = ACCEPTED[clause.letter]
    kind = kind_of(value)
    special = kind == "string" and value in ("NaN", "Infinity", "-Infinity")
    if kind not in kinds or (clause.letter in "ef" and kind == "string" and not special):
        raise CelEvaluationError(f"error during formatting: {complaint}{runtime_type(value)}")
    return _FILLERS[clause.letter](value, clause.precision)


def _text(value: Value, _: int = 0) -> str:
    match value:
        case None:
            return "null"
        case TypeValue(name=name):
            return name
        case list():
            return "[" + ", ".join(_literal(item) for item in value) + "]"
        case Mapping():
            pairs = sorted((_literal(key), _literal(item)) for key, item in entries(value))
            return "{" + ", ".join(f"{key}:{item}" for key, item in pairs) + "}"
        case _:
            return to_text(value)


def _literal(value: Value) -> str:
    """Return a value inside a list or map, nearly as a literal in a rule."""
    match value:
        case str():
            return quote(value)
        case bytes():
            return "b" + quote(to_text(value))
        case float():
            return f"{value:.6f}" if math.isfinite(value) else f'"{to_text(value)}"'
        case Timestamp():
            return f'timestamp("{print_timestamp(value)}")'
        case Duration():
            return f'duration("{print_duration(value)}")'
        case _:
            if kind_of(value) not in ACCEPTED["s"][0]:
                raise CelEvaluationError(
                    f"error during formatting: no formatting function for {runtime_type(value)}"
                )
            return _text(value)


def _special(value: Value) -> str | None:
    number = float(value)
    if math.isnan(number):
        return "NaN"
    return None if math.isfinite(number) else ("\u221e" if number > 0 else "-\u221e")


def _fixed(value: Value, precision: int) -> str:
    return _special(value) or f"{value:,.{precision}f}"


def _scientific(value: Value, _: int) -> str:
    """Format with six digits: the real server takes the precision for a width."""
    if special := _special(value):
        return special
    mantissa, exponent = f"{value:.6e}".split("e")
    shown = exponent.removeprefix("+").translate(_SUPERSCRIPT)
    return f"{mantissa}\u00d710{shown}"


def _hex(value: Value, _: int) -> str:
    match value:
        case str():
            return value.encode().hex()
        case bytes():
            return value.hex()
        case _:
            return f"{int(value):x}"


_FILLERS: dict[str, Callable[[Value, int], str]] = {
    "s": _text,
    "d": lambda value, _: str(int(value)),
    "f": _fixed,
    "e": _scientific,
    "b": lambda value, _: f"{int(value):b}",
    "x": _hex,
    "X": lambda value, precision: _hex(value, precision).upper(),
    "o": lambda value, _: f"{int(value) if isinstance(value, Uint) else value:o}",
}
