"""Convert a Python value to JSON without loss, or raise an error that names the path.

The encoder of requests (orjson) is fast and lenient: it writes ``NaN`` and infinity as ``null``,
which in a merge patch deletes the field; it accepts integers that the server rounds; and if it
refuses a value, its error does not say where the value is.  ``json_value`` walks the value instead,
and either returns plain JSON with the same meaning or raises ``NotJsonError`` with path and fix.

Walking costs more than encoding, so callers on a hot path encode first and walk only if the encoder
refused the value or its output could hide a ``NaN`` (see ``sets/outputs/manifests.py``).

    Python                                  JSON
    --------------------------------------  ------------------------------------------------
    None, bool, str, finite float           as they are
    int                                     as it is, within 64 bits
    list, tuple                             array
    dict or another Mapping, keys are str   object
    datetime with a time zone               text in UTC, ``2026-01-02T03:04:05Z``
    date, time, UUID, Enum                  text; an Enum is its value
    Model, Quantity of this package         as the server reads them
    anything else                           NotJsonError

Models are recognised by their method ``to_wire`` and not by their class, so that this module does
not load pydantic: the command line starts without it.
"""

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from math import isfinite
from typing import Any
from uuid import UUID

from myrmidon.api.values.texts import has_lone_surrogate, text_of
from myrmidon.api.values.timestamps import write_exact_time

INT_MAX = 2**63 - 1
INT_MIN = -(2**63)
DEPTH_MAX = 251
"""The most levels of nesting; the encoder stops at 254, and requests add a few."""

_ORDINARY = "use strings, numbers, booleans, None, lists and dicts with string keys"
_FIXES: tuple[tuple[Any, str], ...] = (
    ((set, frozenset), "write sorted(...): a set has no order"),
    ((bytes, bytearray, memoryview), "decode it, or write base64.b64encode(...).decode()"),
    (Decimal, "write str(...), or float(...) where the field is a number"),
    (lambda value: hasattr(value, "model_dump"), "write .model_dump(mode='json', by_alias=True)"),
    (is_dataclass, "write dataclasses.asdict(...)"),
)


class NotJsonError(ValueError):
    """A value that cannot be written as JSON, with the path to it."""

    def __init__(self, path: str, problem: str, fix: str) -> None:
        self.path, self.problem, self.fix = path, problem, fix
        super().__init__(f"{path} {problem}")


def json_value(value: Any, path: str = "", *, text: Callable[[str, str], str] | None = None) -> Any:
    """Return the value as a new plain JSON value, or raise ``NotJsonError``.

    ``text`` is called with each string and its path, and returns the string to write.  By default a
    string that cannot be encoded is refused.
    """
    return _Walk(text or _encodable).value(value, path, 0)


def encodable(value: Any) -> Any:
    """Convert a value of a type that orjson does not know; for orjson's ``default``.

    Raises ``TypeError``, without a path, for a type that cannot be written as JSON.
    """
    match value:
        case datetime() if value.tzinfo is not None:
            return write_exact_time(value)
        case date() | time() if not isinstance(value, datetime):
            return value.isoformat()
        case _ if hasattr(value, "to_wire"):  # a Model
            return value.to_wire()
        case _ if hasattr(value, "wire"):  # a Quantity
            return value.wire
        case _:
            raise TypeError


class _Walk:
    """One walk through a value; it keeps the ids of the enclosing containers to find cycles."""

    def __init__(self, text: Callable[[str, str], str]) -> None:
        self._text = text
        self._inside: set[int] = set()

    def value(self, value: Any, path: str, depth: int) -> Any:
        match value:
            case None | bool():
                return value
            case Enum():
                return self.value(value.value, path, depth)
            case str():
                return self._text(str(value), path)
            case int():
                return _integer(int(value), path)
            case float():
                return _number(float(value), path)
            case Mapping() | list():
                return self._container(value, path, depth)
            case tuple() if not hasattr(value, "_fields"):  # a named tuple would lose its names
                return self._container(value, path, depth)
            case UUID():
                return str(value)
            case _ if hasattr(value, "to_wire"):
                return self._container(value, path, depth)
            case _:
                return _scalar(value, path)

    def _container(self, value: Any, path: str, depth: int) -> Any:
        if id(value) in self._inside:
            raise NotJsonError(path, "contains itself", "make a copy of the inner part")
        if depth >= DEPTH_MAX:
            raise NotJsonError(path, f"is nested deeper than {DEPTH_MAX} levels", "flatten it")
        self._inside.add(id(value))
        made: Any
        if hasattr(value, "to_wire"):
            made = self._model(value, path, depth)
        elif isinstance(value, Mapping):
            made = {}
            for key, item in value.items():
                name = self._key(key, path)
                made[name] = self.value(item, inside(path, name), depth + 1)
        else:
            made = [self.value(item, f"{path}[{at}]", depth + 1) for at, item in enumerate(value)]
        self._inside.discard(id(value))
        return made

    def _key(self, key: Any, path: str) -> str:
        raw = key.value if isinstance(key, Enum) else key
        if not isinstance(raw, str):
            raise NotJsonError(
                path or "the object",
                f"has a key of type {type(key).__name__}, which is not a string",
                "write str(...) around the key",
            )
        return self._text(str(raw), inside(path, raw))

    def _model(self, model: Any, path: str, depth: int) -> Any:
        """Return the model as JSON; raise with the path of a field that cannot be written."""
        try:
            said = model.to_wire()
        except Exception as error:
            for name, field in type(model).__pydantic_fields__.items():
                item = model.__dict__.get(name)
                self.value(item, inside(path, field.serialization_alias or name), depth + 1)
            raise NotJsonError(path, f"cannot be written: {text_of(error)}", _ORDINARY) from error
        return self.value(said, path, depth)


def inside(path: str, key: str) -> str:
    """Return the path of a field: ``spec.image``, or ``data['a.key']`` if a dot would mislead."""
    if key.isascii() and key.replace("-", "_").isidentifier():
        return f"{path}.{key}" if path else key
    return f"{path}[{key!r}]"


def _encodable(text: str, path: str) -> str:
    if has_lone_surrogate(text):
        raise NotJsonError(
            path,
            "holds half of a surrogate pair, which has no UTF-8 encoding",
            "decode the bytes that it came from with errors='replace'",
        )
    return text


def _integer(value: int, path: str) -> int:
    if not INT_MIN <= value <= INT_MAX:
        raise NotJsonError(
            path, "is an integer of more than 64 bits, which the server rounds", "write str(...)"
        )
    return value


def _number(value: float, path: str) -> float:
    if not isfinite(value):
        raise NotJsonError(
            path,
            f"is {value}, and JSON has no such number",
            "leave the field out, or write a finite number",
        )
    return value


def _scalar(value: Any, path: str) -> Any:
    if isinstance(value, datetime) and value.tzinfo is None:
        raise NotJsonError(path, "is a time without a time zone", "write datetime.now(UTC)")
    try:
        return encodable(value)
    except TypeError:
        found = (fix for kinds, fix in _FIXES if _is(value, kinds))
        raise NotJsonError(
            path or "the object",
            f"is of type {type(value).__name__}, which JSON does not have",
            next(found, _ORDINARY),
        ) from None


def _is(value: Any, kinds: Any) -> bool:
    return isinstance(value, kinds) if isinstance(kinds, type | tuple) else kinds(value)
