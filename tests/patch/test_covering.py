"""Which declared content an object already has."""

from typing import Any

import pytest
from hypothesis import example, given

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import same
from myrmidon.patch import covers, covers_object, leaves_doubt, merge
from myrmidon.patch.covering import shortened
from tests.strategies import documents, values, without_nulls


@given(value=values())
def test_everything_covers_itself(value: Any) -> None:
    """As it was stored: a stored null counts as absent, and so does an absent null."""
    assert covers(value, value)
    assert covers(value, value, built_in=True)


@given(current=documents(), declared=documents())
def test_a4_covered_content_is_what_a_merge_would_leave(current: Json, declared: Json) -> None:
    """Where there is no doubt, covered means that sending it changes nothing."""
    if covers(current, declared) and not leaves_doubt(declared):
        assert same(without_nulls(merge(current, declared)), without_nulls(current))


@given(declared=documents(), extra=documents())
def test_objects_may_hold_more(declared: Json, extra: Json) -> None:
    """Fields of others and of the server are not differences."""
    assert covers(merge(extra, declared), declared)


@given(current=documents(), declared=documents())
@example(current={"limits": {}}, declared={"limits": {"a": None}})
@example(current={"limits": {"a": {"b": 1, "c": 2}}}, declared={"limits": {"a": {"b": 1}}})
def test_built_in_kinds_are_more_lenient(current: Json, declared: Json) -> None:
    """Content that is covered strictly is covered leniently, too."""
    if covers(current, declared):
        assert covers(current, declared, built_in=True)


@pytest.mark.parametrize(
    ("current", "declared"),
    [
        ({"a": True}, {"a": 1}),
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"a": None}),
        ({}, {"a": 1}),
        ({"a": [1]}, {"a": [1, 2]}),
        ({"a": [1, 2]}, {"a": [1]}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ({"a": {}}, {"a": []}),
        ({"a": []}, {"a": {}}),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}),
        ({"data": {}}, {"data": {"k": ""}}),
        ({"labels": {"a": "x"}}, {"labels": {"a": "x", "b": ""}}),
        ({"limits": {"cpu": "1"}}, {"limits": {"cpu": "2"}}),
        ({"limits": {}}, {"limits": {"cpu": "1"}}),
        ({"limits": {"cpu": True}}, {"limits": {"cpu": 1}}),
        ({"limits": 1}, {"limits": {"cpu": 1}}),
        ({"sizeLimit": "1Gi"}, {"sizeLimit": "2Gi"}),
        ({"name": "a", "value": "1"}, {"name": "a", "value": "1000m"}),
    ],
)
def test_a5_differences_are_seen_for_every_kind(current: Json, declared: Json) -> None:
    """These must be written."""
    assert not covers(current, declared)
    assert not covers(current, declared, built_in=True)


@pytest.mark.parametrize(
    ("current", "declared"),
    [
        ({}, {"a": False, "b": "", "c": 0, "d": [], "e": {}}),
        ({}, {"labels": {"a": None}}),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, {"limits": {"cpu": "1000m"}}),
        ({"requests": {"memory": "1Gi"}}, {"requests": {"memory": "1024Mi"}}),
        ({"sizeLimit": "1Gi"}, {"sizeLimit": "1024Mi"}),
        ({"type": "Value", "value": "1"}, {"type": "Value", "value": "1000m"}),
    ],
)
def test_a5_built_in_kinds_print_some_things_differently(current: Json, declared: Json) -> None:
    """The server drops empty values and shortens quantities; a custom kind keeps both."""
    assert covers(current, declared, built_in=True)
    assert not covers(current, declared)


def test_metadata_is_built_in_for_every_kind() -> None:
    """Empty labels are dropped on custom resources, too."""
    declared: Json = {"metadata": {"labels": {}, "annotations": {"a": None}}, "spec": {}}

    assert covers_object({"metadata": {}, "spec": {}}, declared, built_in=False)
    assert not covers_object({"metadata": {}}, declared, built_in=False)
    assert covers_object({"metadata": {}}, declared, built_in=True)


@pytest.mark.parametrize(
    ("declared", "custom", "built_in"),
    [
        ({"a": 1, "b": {"c": "x"}}, False, False),
        ({"a": [1, "x"]}, False, False),
        ({"a": [{"b": 1}]}, True, True),
        ({"a": {"b": [[1]]}}, True, True),
        ({"a": False}, False, True),
        ({"a": {"b": {}}}, False, True),
        ({"a": None}, False, False),
        ({"data": {"k": ""}}, False, False),
    ],
)
def test_a4_doubt_is_where_comparison_cannot_see(
    declared: Json, custom: bool, built_in: bool
) -> None:
    """Objects in lists, and empty values of built-in kinds."""
    assert leaves_doubt(declared) is custom
    assert leaves_doubt(declared, built_in=True) is built_in


@given(declared=values(), more=values())
def test_shortened_has_the_declared_lists(declared: Any, more: Any) -> None:
    """Elements appended to lists are removed, nothing else is touched."""

    def grown(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: grown(item) for key, item in value.items()}
        return [*map(grown, value), more] if isinstance(value, list) else value

    assert same(shortened(grown(declared), declared), declared)
