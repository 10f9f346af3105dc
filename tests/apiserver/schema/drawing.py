"""Strategies for schemas, and for objects that fit them more or less."""

from typing import Any

from hypothesis import strategies as st

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.schema.conforming import conform
from myrmidon.apiserver.schema.defaulting import default
from myrmidon.apiserver.schema_node import Schema

KEYS = st.sampled_from(["a", "b", "c"])
TEXTS = st.sampled_from(["", "a", "ab", "abc", "x y", "2020-01-01", "1h"])
NUMBERS = st.sampled_from([-1, 0, 1, 2, 5, 10]) | st.sampled_from([0.5, 1.0, 2.5])
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS


def admit(obj: Json, schema: Schema) -> list[str]:
    """Prune an object and fill in defaults; return the unknown fields that were dropped."""
    dropped = conform(obj, schema)
    default(obj, schema)
    return dropped


def values() -> st.SearchStrategy[Any]:
    """Draw any JSON value, with keys that schemas use."""
    return st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
        max_leaves=8,
    )


@st.composite
def strings(draw: st.DrawFn) -> Json:
    """Draw schemas of strings."""
    schema: Json = {"type": "string"}
    if draw(st.booleans()):
        schema["maxLength"] = draw(st.integers(1, 3))
    if draw(st.booleans()):
        schema["enum"] = draw(st.lists(TEXTS, min_size=1, max_size=3))
    if draw(st.booleans()):
        schema["pattern"] = draw(st.sampled_from(["^a", "b$", "[0-9]+"]))
    if draw(st.booleans()):
        schema["format"] = draw(st.sampled_from(["date", "duration", "nonsense"]))
    return schema


@st.composite
def numbers(draw: st.DrawFn) -> Json:
    """Draw schemas of numbers."""
    schema: Json = {"type": draw(st.sampled_from(["integer", "number"]))}
    for bound in ("minimum", "maximum"):
        if draw(st.booleans()):
            schema[bound] = draw(st.integers(0, 5))
    if draw(st.booleans()):
        schema["multipleOf"] = draw(st.sampled_from([1, 2, 5]))
    return schema


def leaves() -> st.SearchStrategy[Json]:
    """Draw schemas of scalars."""
    known: list[Json] = [
        {"type": "boolean"},
        {"x-kubernetes-int-or-string": True},
        {"x-kubernetes-preserve-unknown-fields": True},
    ]
    others = st.sampled_from(known)
    return strings() | numbers() | others


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Json]) -> Json:
    """Draw schemas of objects with fields."""
    schema: Json = {"type": "object", "properties": draw(st.dictionaries(KEYS, inner, max_size=3))}
    if draw(st.booleans()):
        schema["required"] = draw(st.lists(KEYS, max_size=2, unique=True))
    if draw(st.integers(0, 4)) == 0:
        schema["x-kubernetes-preserve-unknown-fields"] = True
    if draw(st.integers(0, 4)) == 0:
        word = draw(st.sampled_from(["anyOf", "oneOf", "allOf"]))
        schema[word] = [{"required": [key]} for key in draw(st.lists(KEYS, min_size=1, max_size=3))]
    return schema


@st.composite
def lists(draw: st.DrawFn, inner: st.SearchStrategy[Json]) -> Json:
    """Draw schemas of lists."""
    schema: Json = {"type": "array", "items": draw(inner)}
    for word in ("minItems", "maxItems"):
        if draw(st.booleans()):
            schema[word] = draw(st.integers(0, 2))
    if draw(st.booleans()) and schema["items"].get("type") in ("string", "integer"):
        schema["x-kubernetes-list-type"] = "set"
    return schema


@st.composite
def maps(draw: st.DrawFn, inner: st.SearchStrategy[Json]) -> Json:
    """Draw schemas of maps."""
    schema: Json = {"type": "object", "additionalProperties": draw(inner | st.just(True))}
    if draw(st.booleans()):
        schema["maxProperties"] = draw(st.integers(0, 2))
    return schema


@st.composite
def with_more(draw: st.DrawFn, inner: st.SearchStrategy[Json]) -> Json:
    """Draw a schema that may be nullable or have a default, which need not fit it."""
    schema = dict(draw(inner))
    if draw(st.integers(0, 3)) == 0:
        schema["nullable"] = True
    if draw(st.integers(0, 2)) == 0:
        schema["default"] = draw(values().filter(lambda value: value is not None))
    return schema


def nodes() -> st.SearchStrategy[Json]:
    """Draw any part of a schema."""
    return st.recursive(
        with_more(leaves()),
        lambda inner: with_more(objects(inner) | lists(inner) | maps(inner)),
        max_leaves=6,
    )


def schemas() -> st.SearchStrategy[Json]:
    """Draw schemas of whole objects."""
    return objects(nodes())


def contents() -> st.SearchStrategy[Json]:
    """Draw the content of an object."""
    return st.dictionaries(KEYS | st.just("unknown"), values(), max_size=4)
