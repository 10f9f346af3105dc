"""Types of expressions, as the checker knows them, and the notation for signatures.

``list(A)`` has a parameter: single capital letters stand for any type.  ``net.IP`` and its like are
opaque (only functions can look inside), ``kubernetes.URL`` and objects of a schema are structs.
"""

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Type:
    """``kind`` is what the rules of assignment look at; ``name`` tells structs and opaques apart."""

    kind: str
    name: str
    params: tuple["Type", ...] = ()

    def __str__(self) -> str:
        """The type in messages."""
        if not self.params:
            return self.name
        return f"{self.name}({', '.join(str(param) for param in self.params)})"


def simple(name: str) -> Type:
    """A type without parameters whose kind is its name."""
    return Type(name, name)


BOOL, INT, UINT, DOUBLE, STRING, BYTES = map(
    simple, ("bool", "int", "uint", "double", "string", "bytes")
)
NULL, DYN, TIMESTAMP, DURATION = map(simple, ("null", "dyn", "timestamp", "duration"))
ERROR = Type("error", "!error!")
ANY_TYPE = simple("type")

# The names that `type(x)` gives and `string(type(x))` prints, where they differ.
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
    """The type of lists of these."""
    return Type("list", "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """The type of maps from these to those."""
    return Type("map", "map", (key, value))


def type_of(param: Type) -> Type:
    """The type of a type."""
    return Type("type", "type", (param,))


def optional_of(param: Type) -> Type:
    """The type of an optional value."""
    return Type("opaque", "optional_type", (param,))


def struct(name: str) -> Type:
    """An object with fields, by name."""
    return Type("struct", name)


def param(name: str) -> Type:
    """A type yet to be found out."""
    return Type("param", name)


def is_optional(t: Type) -> bool:
    """Whether it may be missing."""
    return t.name == "optional_type" and t.kind == "opaque"


@cache
def parse_type(text: str) -> Type:
    """A type from its notation: ``map(string, list(A))``."""
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
    """The parts of ``A, map(B, C)``."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    if text[start:].strip():
        parts.append(text[start:])
    return parts
