"""RFC 7386 and its inverse."""

from typing import Any

import pytest
from hypothesis import given

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import same
from myrmidon.patch import covers, merge, missing
from myrmidon.patch.merge_patch import without_nulls
from tests.strategies import documents

# RFC 7386, appendix A: original, patch, result.
APPENDIX_A: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("original", "patch", "result"), APPENDIX_A)
def test_a4_appendix_a_of_rfc_7386(original: Any, patch: Any, result: Any) -> None:
    """The table at the end of the RFC."""
    assert merge(original, patch) == result


@given(current=documents(), desired=documents())
def test_a2_applying_what_is_missing_leaves_nothing_missing(current: Json, desired: Json) -> None:
    """A second apply of the same content sends nothing."""
    assert missing(merge(current, missing(current, desired)), desired) == {}


@given(current=documents(), desired=documents())
def test_a4_sending_less_does_what_sending_everything_would(current: Json, desired: Json) -> None:
    """The inverse of a merge loses nothing."""
    assert same(merge(current, missing(current, desired)), merge(current, desired))


@given(current=documents(), desired=documents())
def test_a4_what_was_merged_is_covered(current: Json, desired: Json) -> None:
    """``merge(current, missing(current, desired))`` contains ``desired``."""
    assert covers(merge(current, missing(current, desired)), desired)


@given(current=documents(), desired=documents())
def test_a4_fields_not_mentioned_survive(current: Json, desired: Json) -> None:
    """Fields that others own are never touched."""
    applied = merge(current, desired)

    assert all(same(applied[key], current[key]) for key in current.keys() - desired.keys())


@given(current=documents(), desired=documents())
def test_merging_changes_neither_document(current: Json, desired: Json) -> None:
    """Both belong to the caller."""
    before = repr(current), repr(desired)
    merge(current, desired)
    missing(current, desired)

    assert (repr(current), repr(desired)) == before


def test_null_fields_are_dropped_at_any_depth_and_null_elements_stay() -> None:
    """A null field means nothing outside a merge patch; a null element is a value of its list."""
    given = {"a": None, "b": {"c": None, "d": 1}, "e": [None, {"f": None}], "g": ""}

    assert without_nulls(given) == {"b": {"d": 1}, "e": [None, {}], "g": ""}
