"""Literals: from the text of a token to its value."""

import re

from myrmidon.apiserver.cel.ast import LiteralKind
from myrmidon.apiserver.golang.text import CONTROL_CHARACTERS

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1

_SEQUENCE = re.compile(
    r"\\(?:([0-3][0-7]{2})|[xX]([0-9a-fA-F]{2})|(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|(.))"
)


class BadLiteralError(ValueError):
    """A literal without a value, such as an integer out of range."""


def read_literal(
    kind: str, text: str
) -> tuple[LiteralKind, bool | int | float | str | bytes | None]:
    """Return the kind and value of a token; ``text`` includes the sign of a number."""
    match kind:
        case "null":
            return "null", None
        case "true" | "false":
            return "bool", kind == "true"
        case "int":
            return "int", _integer(text, INT_MIN, INT_MAX, "int")
        case "uint":
            return "uint", _integer(text[:-1], 0, UINT_MAX, "uint")
        case "float":
            return "double", _double(text)
        case "string":
            return "string", _unquote(text)
        case _:
            return "bytes", _unquote_bytes(text[1:])


_DIGITS_MAX = 100  # any number that fits into 64 bits has fewer


def _integer(text: str, low: int, high: int, kind: str) -> int:
    value = int(text[:_DIGITS_MAX], 16 if "x" in text else 10)
    if len(text) > _DIGITS_MAX or not low <= value <= high:
        raise BadLiteralError(f"invalid {kind} literal")
    return value


def _double(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise BadLiteralError("invalid double literal")
    return value


def _content(text: str) -> tuple[str, bool]:
    """Return the text between the quotes, and whether the literal is raw."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    width = 3 if len(text) >= 6 and text[:3] in ('"""', "'''") else 1
    return text[width:-width], raw


def _unquote(text: str) -> str:
    content, raw = _content(text)
    if raw or "\\" not in content:
        return content
    return _SEQUENCE.sub(_character, content)


def _character(found: re.Match[str]) -> str:
    octal, hexadecimal, code, char = found.groups()
    if char is not None:
        return CONTROL_CHARACTERS.get(char, char)
    point = int(octal, 8) if octal else int(hexadecimal or code[1:], 16)
    if point > 0x10FFFF or 0xD800 <= point < 0xE000:
        raise BadLiteralError("invalid unicode code point")
    return chr(point)


def _unquote_bytes(text: str) -> bytes:
    content, raw = _content(text)
    if raw or "\\" not in content:
        return content.encode()
    parts: list[bytes] = []
    at = 0
    for found in _SEQUENCE.finditer(content):
        octal, hexadecimal, code, char = found.groups()
        if code:
            raise BadLiteralError("unable to unescape string")
        parts.append(content[at : found.start()].encode())
        if char is not None:
            parts.append(CONTROL_CHARACTERS.get(char, char).encode())
        else:
            parts.append(bytes([int(octal, 8) if octal else int(hexadecimal, 16)]))
        at = found.end()
    parts.append(content[at:].encode())
    return b"".join(parts)
