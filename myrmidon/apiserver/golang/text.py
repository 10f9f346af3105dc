"""Format values as Go prints them, for error messages."""

import json
from decimal import Decimal
from typing import Any

CONTROL_CHARACTERS = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
"""The control characters with a letter escape, by that letter."""
ESCAPES = {char: f"\\{letter}" for letter, char in CONTROL_CHARACTERS.items()} | {
    '"': '\\"',
    "\\": "\\\\",
}
# encoding/json escapes these so that its output is safe inside HTML and JavaScript.
_HTML = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)
_EXPONENT_MIN, _EXPONENT_MAX = 1e-6, 1e21
_PLAIN_MIN, _PLAIN_MAX = -4, 6  # exponents that are not printed


def quote(text: str) -> str:
    """Return text as ``%q`` prints it: quoted, with unprintable characters escaped."""
    return '"' + "".join(ESCAPES.get(char) or _printable(char) for char in text) + '"'


def _printable(char: str) -> str:
    if char == " " or (char.isprintable() and char != "\x7f"):
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def number(value: float) -> str:
    """Return a number as ``%v`` prints it: ``1.0`` is ``1``, a million is ``1e+06``."""
    if isinstance(value, int) or value == 0:
        return str(int(value))
    digits = Decimal(repr(value)).normalize()
    exponent = digits.adjusted()
    if _PLAIN_MIN <= exponent < _PLAIN_MAX:
        return format(digits, "f")
    mantissa = format(digits.scaleb(-exponent), "f")
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"


def _json_number(value: float) -> str:
    """Return a number as the JSON encoder prints it: fewer exponents, without leading zeros."""
    if _EXPONENT_MIN <= abs(value) < _EXPONENT_MAX:
        return format(Decimal(repr(value)).normalize(), "f")
    return number(value).replace("e-0", "e-")


class Struct(dict[str, Any]):
    """A dict that is printed in the order of its keys, like a Go struct; maps are sorted."""


def to_json(value: Any) -> str:
    """Return a value as Go's JSON encoder prints it: compact, with HTML characters escaped."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _json_number(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).translate(_HTML)
    if isinstance(value, dict):
        keys = value if isinstance(value, Struct) else sorted(value)
        return "{" + ",".join(f"{to_json(key)}:{to_json(value[key])}" for key in keys) + "}"
    return "[" + ",".join(map(to_json, value)) + "]"


def shown(value: Any) -> str:
    """Return a value as field errors print it."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, float):
        return number(value)
    return to_json(value)
