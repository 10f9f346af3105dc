"""Field paths in definitions, such as ``.spec.name`` and ``.map['some key']``."""

import re
from collections.abc import Iterator

from myrmidon.apiserver.golang.text import CONTROL_CHARACTERS
from myrmidon.apiserver.schema_node import Schema

# A quoted key, a delimiter, or a name up to the next delimiter.
_TOKEN = re.compile(r"'(?:[^'\\]|\\.|'(?<=\\'))*'|[.\[\]]|[^.\[\]]+", re.DOTALL)
_ESCAPES = {**CONTROL_CHARACTERS, "'": "'", "\\": "\\"}
_NO_FIELD = "does not refer to a valid field"


class FieldPathError(ValueError):
    """The path is malformed, or does not lead to a field of the schema."""


def follow(path: str, schema: Schema, *, brackets: bool = True) -> tuple[str, Schema]:
    """Return the path as error messages print it, and the node that it leads to.

    With ``brackets=False``, a path with brackets is an error.  In a map, the name after a dot is a
    key, as in the real server.
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
