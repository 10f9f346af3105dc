"""Strategies of our property tests: JSON, objects, graphs, results.

They draw from few keys and values, so that they collide: documents without common keys test
nothing.
"""

from typing import Any

from hypothesis import strategies as st

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind, ObjectRef

KEYS = st.sampled_from(["a", "b", "c", "limits"])
LABELS = st.none() | st.dictionaries(
    st.sampled_from(["a", "b"]), st.sampled_from(["", "x"]) | st.none(), max_size=2
)
NAMES = st.sampled_from(["a", "b", "web"])
WIDGET = Kind("example.com", "v1", "Widget", "widgets")
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(0, 2)
    | st.sampled_from([0.0, 1.0, 1.5])
    | st.sampled_from(["", "x", "1", "1000m"])
)


def values(scalars: st.SearchStrategy[Any] = SCALARS) -> st.SearchStrategy[Any]:
    """Draw small JSON values that resemble each other."""
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=2) | maps(inner),
        max_leaves=8,
    )


def documents() -> st.SearchStrategy[Json]:
    """Draw JSON objects that share keys with one another."""
    return maps(values())


def maps(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    """Draw JSON objects with these values.  ``labels`` is a map of strings, as on a server."""
    plain = st.dictionaries(KEYS, inner, max_size=3)
    return plain | st.builds(lambda one, labels: {**one, "labels": labels}, plain, LABELS)


def refs() -> st.SearchStrategy[ObjectRef]:
    """Draw references of a few objects of two kinds."""
    named = st.sampled_from([kinds.CONFIG_MAP, kinds.SECRET])
    return st.builds(ObjectRef, named, NAMES, st.sampled_from(["default", "other"]))


def without_nulls(value: Any) -> Any:
    """Return the value without keys that are null, also inside lists."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
