"""Scalar types as Go reads and writes them; each function returns the canonical form.

A value of the wrong JSON type raises ``Misfit``, and the walk adds the path of the value to the
message.  An error inside a Kubernetes type, such as a malformed quantity, raises ``DecodingError``,
whose message is complete.
"""

import base64
import re
from collections.abc import Callable
from typing import Any

from myrmidon.api.values.quantities import QuantityError, parse_quantity
from myrmidon.api.values.timestamps import write_micro_time, write_time
from myrmidon.apiserver.golang import times as go_times
from myrmidon.apiserver.golang.types import json_kind


class DecodingError(ValueError):
    """A value cannot be decoded into its type; the message is Go's."""


class Misfit(Exception):  # noqa: N818 - never leaves this package
    """A value has the wrong JSON type; ``shown`` is Go's description of the value."""

    def __init__(self, value: Any, *, shown: str = "", wanted: str = "") -> None:
        super().__init__()
        self.shown = shown or json_kind(value)
        self.wanted = wanted  # the type in Go's message, if it is not that of the field


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise Misfit(value)
    return value


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Misfit(value)
    return value


def _integer(bits: int) -> Callable[[Any], int]:
    limit = 1 << (bits - 1)

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Misfit(value)
        if isinstance(value, float) or not -limit <= value < limit:
            raise Misfit(value, shown=f"number {value}")  # 1.0 is not an integer either
        return value

    return read


def _number(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Misfit(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _quantity(value: Any) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    text = value if isinstance(value, str) else str(value) if number else "?"
    try:
        return str(parse_quantity(text))
    except QuantityError as error:
        raise DecodingError(str(error)) from None


def _int_or_string(value: Any) -> int | str:
    if isinstance(value, str) or (type(value) is int and -(2**31) <= value < 2**31):
        return value
    shown = f"number {value}" if type(value) in (int, float) else json_kind(value)
    raise Misfit(value, shown=shown, wanted="int32")


def _time(value: Any) -> str | None:
    try:
        moment = go_times.parse_time(_text_of_time(value))
        return None if moment == go_times.ZERO else write_time(moment)
    except go_times.TimeError as error:
        raise DecodingError(str(error)) from None


def _micro_time(value: Any) -> str | None:
    try:
        moment = go_times.parse_micro_time(_text_of_time(value))
        return None if moment == go_times.ZERO else write_micro_time(moment)
    except go_times.TimeError as error:
        raise DecodingError(str(error)) from None


def _text_of_time(value: Any) -> str:
    if not isinstance(value, str):
        raise Misfit(value, wanted="string")
    return value


_BASE64 = re.compile(r"[A-Za-z0-9+/]*")


def _bytes(value: Any) -> str:
    if isinstance(value, list):  # Go accepts a list of numbers, too
        return base64.b64encode(bytes(_byte(each) for each in value)).decode()
    plain = _string(value).replace("\r", "").replace("\n", "")
    clean = _BASE64.match(plain)
    assert clean is not None
    padding = plain[clean.end() :]
    if len(plain) % 4 or padding not in ("", "=", "=="):
        at = clean.end() if padding.strip("=") else len(plain) - len(plain) % 4
        raise DecodingError(f"illegal base64 data at input byte {at}")
    return base64.b64encode(base64.b64decode(plain)).decode()


def _byte(value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 255:
        raise Misfit(value, wanted="uint8")
    return value


def _raw(value: Any) -> Any:
    return value


READERS: dict[str, Callable[[Any], Any]] = {
    "string": _string,
    "int32": _integer(32),
    "int64": _integer(64),
    "number": _number,
    "boolean": _boolean,
    "bytes": _bytes,
    "quantity": _quantity,
    "int-or-string": _int_or_string,
    "time": _time,
    "micro-time": _micro_time,
    "raw": _raw,
}
