"""Paths to fields as definitions write them: ``.spec.name``, ``.map['some key']``."""

import re
from collections.abc import Iterator

from myrmidon.apiserver.golang.text import CONTROL_CHARACTERS
from myrmidon.apiserver.schema_node import Schema

# A quoted key, a delimiter, or all up to the next delimiter.
_TOKEN = re.compile(r"'(?:[^'\\]|\\.|'(?<=\\'))*'|[.\[\]]|[^.\[\]]+", re.DOTALL)
_ESCAPES = {**CONTROL_CHARACTERS, "'": "'", "\\": "\\"}
_NO_FIELD = "does not refer to a valid field"


class FieldPathError(ValueError):
    """The path leads nowhere."""


def follow(path: str, schema: Schema, *, brackets: bool = True) -> tuple[str, Schema]:
    """The path as it is printed, and the node that it leads to.

    The real server reads a dot inside a map as a key of it, whatever the map holds.
    """
    printed, node, tokens = "", schema, iter(_TOKEN.findall(path))
    for part in tokens:
        if part == "[":
            if not brackets:
                raise FieldPathError("array notation is not allowed")
            name = _quoted(_next(tokens))
            printed, node = _step(printed, node, name)
            closing = _next(tokens)
            if closing != "]":
                raise FieldPathError(f"expected ] but got {closing}")
        elif part == ".":
            printed, node = _step(printed, node, _next(tokens))
        else:
            raise FieldPathError(f"expected [ or . but got: {part}")
    return printed, node


def _next(tokens: Iterator[str]) -> str:
    part = next(tokens, None)
    if part is None:
        raise FieldPathError("unexpected end of JSON path")
    return part


def _quoted(part: str) -> str:
    if len(part) < len("''") or part[0] != "'" or part[-1] != "'":
        raise FieldPathError(f"expected single quoted string but got {part}")

    def unescape(found: re.Match[str]) -> str:
        if found[1] not in _ESCAPES:
            raise FieldPathError(f"invalid string literal: invalid escape char {found.group()}")
        return _ESCAPES[found[1]]

    return re.sub(r"\\(.)", unescape, part[1:-1], flags=re.DOTALL)


def _step(printed: str, node: Schema, name: str) -> tuple[str, Schema]:
    if node.properties:
        if name not in node.properties:
            raise FieldPathError(_NO_FIELD)
        return f"{printed}.{name}" if printed else name, node.properties[name]
    if node.additional is None:
        raise FieldPathError(_NO_FIELD)
    return f"{printed}[{name}]", node.additional
