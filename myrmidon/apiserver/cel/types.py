"""The types of expressions in the checker, and their notation in signatures.

In ``list(A)``, the capital letter is a type parameter.  ``net.IP`` and similar types are opaque:
only functions can access their contents.  ``kubernetes.URL`` and the objects of a schema are
structs.
"""

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Type:
    """A type.  ``kind`` decides what is assignable; ``name`` identifies a struct or opaque type."""

    kind: str
    name: str
    params: tuple["Type", ...] = ()

    def __str__(self) -> str:
        """Return the type as messages show it."""
        if not self.params:
            return self.name
        return f"{self.name}({', '.join(str(param) for param in self.params)})"


def simple(name: str) -> Type:
    """Return a type without parameters whose kind is its name."""
    return Type(name, name)


BOOL, INT, UINT, DOUBLE, STRING, BYTES = map(
    simple, ("bool", "int", "uint", "double", "string", "bytes")
)
NULL, DYN, TIMESTAMP, DURATION = map(simple, ("null", "dyn", "timestamp", "duration"))
ERROR = Type("error", "!error!")
ANY_TYPE = simple("type")

# The names of types at run time (`type(x)`), where they differ from the checker's.
RUNTIME_NAMES = {
    "null": "null_type",
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
}
_SIMPLE = {t.name: t for t in (BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, DYN, TIMESTAMP)} | {
    "duration": DURATION,
    "type": ANY_TYPE,
}


def list_of(element: Type) -> Type:
    """Return the type of lists with these elements."""
    return Type("list", "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """Return the type of maps with these keys and values."""
    return Type("map", "map", (key, value))


def type_of(param: Type) -> Type:
    """Return the type of a type."""
    return Type("type", "type", (param,))


def optional_of(param: Type) -> Type:
    """Return the type of optionals with this value."""
    return Type("opaque", "optional_type", (param,))


def struct(name: str) -> Type:
    """Return the type of objects with this name."""
    return Type("struct", name)


def param(name: str) -> Type:
    """Return a type parameter."""
    return Type("param", name)


def is_optional(t: Type) -> bool:
    """Whether the type is that of an optional."""
    return t.name == "optional_type" and t.kind == "opaque"


@cache
def parse_type(text: str) -> Type:
    """Parse the notation of a type, such as ``map(string, list(A))``."""
    text = text.strip()
    if text.endswith(")"):
        name, _, inner = text[:-1].partition("(")
        params = tuple(parse_type(part) for part in split_types(inner))
        kind = name if name in ("list", "map", "type") else "opaque"
        return Type(kind, name, params)
    if text in _SIMPLE:
        return _SIMPLE[text]
    if len(text) == 1 and text.isupper():
        return param(text)
    return Type("opaque" if text.startswith("net.") else "struct", text)


def split_types(text: str) -> list[str]:
    """Return the parts of a list of types, such as ``A, map(B, C)``."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    if text[start:].strip():
        parts.append(text[start:])
    return parts
