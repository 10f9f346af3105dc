"""Merge patch as the server applies it: RFC 7386, except for nulls inside lists."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.patches.merge import merge_as_server
from myrmidon.patch import merge

KEYS = st.sampled_from("abc")
VALUES = st.recursive(
    st.none() | st.integers(0, 2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=3)


def has_lists(value: Any) -> bool:
    """Whether there is a list anywhere."""
    if isinstance(value, dict):
        return any(map(has_lists, value.values()))
    return isinstance(value, list)


@settings(deadline=None)
@given(target=DOCUMENTS, patch=DOCUMENTS)
def test_without_lists_it_is_the_rfc(target: Json, patch: Json) -> None:
    """The difference concerns lists alone."""
    if not has_lists(patch):
        assert merge_as_server(target, patch) == merge(target, patch)


@settings(deadline=None)
@given(target=DOCUMENTS, patch=DOCUMENTS)
def test_a_merge_is_idempotent(target: Json, patch: Json) -> None:
    """The arguments are not changed in place, either."""
    before = deepcopy((target, patch))
    once = merge_as_server(target, patch)
    assert merge_as_server(once, patch) == once or has_lists(patch)
    assert (target, patch) == before


@pytest.mark.parametrize(
    ("target", "patch", "merged"),
    [
        ({}, {"a": [None, {"x": None, "y": 1}]}, {"a": [None, {"y": 1}]}),
        ({"a": 1}, {"a": [{"x": None}]}, {"a": [{}]}),
        ({"a": {"x": 1}}, {"a": [{"x": None}]}, {"a": [{"x": None}]}),
        ({}, {"a": {"x": None}}, {"a": {}}),
        ({"a": {"n": None}}, {"a": {"x": 1}}, {"a": {"n": None, "x": 1}}),
        ({"a": {"n": None}}, {"a": {"n": {"x": None}}}, {"a": {"n": {}}}),
    ],
)
def test_nulls(target: Json, patch: Json, merged: Json) -> None:
    """As merged by a real server."""
    assert merge_as_server(target, patch) == merged
