r"""Make pydantic accept and refuse the same values as the API server.

pydantic's strict mode does most of it.  The other differences are handled in the core schema of
every model:

==================  =============================================  ==================================
type                pydantic alone                                 the server, and so we
==================  =============================================  ==================================
``datetime``        takes a blank for the T and needs no zone      RFC 3339 with a zone
``date``            takes a time that is midnight                  the date alone
``int``             has no bounds                                  64 bits
``Literal``, Enum    takes ``true`` for 1                           no
``str`` (pattern)   ``\d``, ``\w``, ``\s``, ``\b`` know Unicode,   they are ASCII, ``[`` in a class is
                    ``[`` in a class opens another                 a bracket (RE2)
==================  =============================================  ==================================

Two more differences are handled only after a value was refused, because objects from a server never
have them: an integer may be written as ``1.0``, and null in a field that is not nullable means that
the field is absent.
"""

import re
from collections.abc import Callable, Iterable
from copy import deepcopy
from datetime import date, datetime
from typing import Any

from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from myrmidon.api.values.json_values import INT_MAX, INT_MIN

_FLOAT_INT_MAX = 2**53 - 1  # the server does not accept larger floats as integers

_DATE_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:.(\d+))?(Z|[+-]\d{2}:\d{2})", re.ASCII | re.IGNORECASE
)  # any character may precede the fraction, because the server's pattern has an unescaped dot
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_JUDGED = "judged_as_the_server_does"


def as_the_server(schema: Any, resolve: Callable[[Any], Any]) -> Any:
    """Return the core schema with those nodes replaced on which pydantic and the server differ.

    ``resolve`` returns the schema that a reference refers to: pydantic stores enums as references.
    """
    if isinstance(schema, list):
        return [as_the_server(item, resolve) for item in schema]
    if isinstance(schema, tuple):
        return tuple(as_the_server(item, resolve) for item in schema)
    if not isinstance(schema, dict):
        return schema
    if (schema.get("metadata") or {}).get(_JUDGED):
        return schema
    walked = {
        key: value if key in _NO_SCHEMAS else as_the_server(value, resolve)
        for key, value in schema.items()
    }
    if walked.get("type") == "definition-ref":
        return _referred(walked, resolve)
    replace = _REPLACED.get(str(walked.get("type")))
    return replace(walked) if replace else walked


def as_stored(value: Any, refused: Iterable[tuple[int | str, ...]]) -> Any | None:
    """Return a refused value as the server would have stored it; None if it would be the same.

    ``refused`` holds the paths at which validation failed.
    """
    stored, changed = deepcopy(value), False
    for location in refused:
        changed |= _store(stored, location)
    return stored if changed else None


def _store(value: Any, location: tuple[int | str, ...]) -> bool:
    parent: Any = None
    key: Any = None
    here: Any = value
    for step in resolved(value, location):
        parent, key, here = here, step, here[step]
    if isinstance(here, float) and here.is_integer() and abs(here) <= _FLOAT_INT_MAX:
        assert parent is not None
        parent[key] = int(here)
        return True
    if here is None and isinstance(parent, dict):
        del parent[key]
        return True
    return False


def resolved(value: Any, location: Iterable[int | str]) -> list[Any]:
    """Return the steps of a location that exist in the value.

    pydantic appends the name of a union's branch to a location, which is not part of the value.
    """
    steps: list[Any] = []
    for step in location:
        match value:
            case dict() if step in value:
                value = value[step]
            case list() if isinstance(step, int) and step < len(value):
                value = value[step]
            case _:
                break
        steps.append(step)
    return steps


def ascii_classes(pattern: str) -> str:
    """Return the pattern for a Unicode-aware engine, with the meaning that RE2 gives it."""
    made, inside, position = [], False, 0
    while position < len(pattern):
        here = pattern[position]
        if here == "\\":
            pair = pattern[position : position + 2]
            made.append((_IN_CLASS if inside else _OUTSIDE).get(pair, pair))
            position += 2
            continue
        if inside and (posix := _POSIX.match(pattern, position)):
            made.append(posix[0])
            position = posix.end()
            continue
        opens = not inside and here == "["
        if inside and here in "[&~":
            made.append("\\" + here)  # unescaped, it could be an operator on classes
        else:
            made.append(here)
        position += 1
        if opens:
            inside = True
            # A bracket that comes first is an ordinary character.
            first = re.compile(r"\^?\]?").match(pattern, position)
            assert first is not None, "an optional pattern matches everywhere"
            made.append(first[0].replace("]", r"\]"))
            position = first.end()
        elif inside and here == "]":
            inside = False
    return "".join(made)


def _datetime(node: dict[str, Any]) -> CoreSchema:
    return _checked(_date_time_text, {**node, "strict": False, "tz_constraint": "aware"})


def _date(node: dict[str, Any]) -> CoreSchema:
    return _checked(_date_text, {**node, "strict": False})


def _int(node: dict[str, Any]) -> dict[str, Any]:
    bounded = dict(node)
    if "le" not in node and "lt" not in node:
        bounded["le"] = INT_MAX
    if "ge" not in node and "gt" not in node:
        bounded["ge"] = INT_MIN
    return bounded


def _str(node: dict[str, Any]) -> dict[str, Any]:
    pattern = node.get("pattern")
    if not isinstance(pattern, str):
        return node
    return {**node, "pattern": ascii_classes(pattern), "metadata": {_JUDGED: True}}


def _literal(node: dict[str, Any]) -> Any:
    return _numbers_only(node, node["expected"])


def _referred(node: dict[str, Any], resolve: Callable[[Any], Any]) -> Any:
    try:
        target = resolve(node)
    except LookupError:
        return node  # a recursive model, which is not complete yet
    return _enum(node, target) if target.get("type") == "enum" else node


def _enum(node: dict[str, Any], target: dict[str, Any] | None = None) -> Any:
    return _numbers_only(node, [member.value for member in (target or node)["members"]])


def _numbers_only(node: dict[str, Any], choices: Iterable[Any]) -> Any:
    """Refuse booleans among numeric choices: in Python ``True`` equals 1."""
    if any(isinstance(choice, bool) for choice in choices):
        return node
    return _checked(_no_bool, node)


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise PydanticCustomError(
            "no_bool", "Input should be one of the choices, not true or false"
        )
    return value


def _checked(check: Callable[[Any], Any], node: Any) -> CoreSchema:
    return core_schema.no_info_before_validator_function(check, node, metadata={_JUDGED: True})


def _date_time_text(value: Any) -> Any:
    if isinstance(value, datetime):
        return value
    found = _DATE_TIME.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise PydanticCustomError(
            "date_time", "Input should be a date-time such as 2030-01-31T12:00:00Z"
        )
    moment, fraction, zone = found.groups()
    return f"{moment}.{fraction}{zone}" if fraction else value


def _date_text(value: Any) -> Any:
    if (isinstance(value, date) and not isinstance(value, datetime)) or (
        isinstance(value, str) and _DATE.fullmatch(value)
    ):
        return value
    raise PydanticCustomError("date", "Input should be a date such as 2030-01-31")


_NO_SCHEMAS = frozenset(
    {"default", "metadata", "serialization", "config", "cls", "expected", "members"}
)
_REPLACED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "datetime": _datetime,
    "date": _date,
    "int": _int,
    "str": _str,
    "literal": _literal,
    "enum": _enum,
}
_POSIX = re.compile(r"\[:\^?[a-z]+:\]")
_OUTSIDE = {
    r"\d": "[0-9]",
    r"\D": "[^0-9]",
    r"\w": "[0-9A-Za-z_]",
    r"\W": "[^0-9A-Za-z_]",
    r"\s": r"[\t\n\f\r ]",
    r"\S": r"[^\t\n\f\r ]",
    r"\b": r"(?-u:\b)",
    r"\B": r"(?-u:\B)",
}
_IN_CLASS = {
    r"\d": "0-9",
    r"\D": "[^0-9]",
    r"\w": "0-9A-Za-z_",
    r"\W": "[^0-9A-Za-z_]",
    r"\s": r"\t\n\f\r ",
    r"\S": r"[^\t\n\f\r ]",
}
