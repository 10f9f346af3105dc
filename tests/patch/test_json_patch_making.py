"""Patches that are made from two documents turn one into the other."""

from hypothesis import given

from myrmidon.api import Json
from myrmidon.api.values.equality import same
from myrmidon.api.values.merge_differences import merge_patch_between
from myrmidon.patch.json_patch import apply_json_patch
from myrmidon.patch.json_patch_making import json_patch_between
from myrmidon.patch.merge_patch import merge
from tests.strategies import documents, without_nulls


@given(documents(), documents())
def test_a_json_patch_turns_one_document_into_the_other(before: Json, after: Json) -> None:
    """Whatever the two have in common."""
    assert same(apply_json_patch(before, json_patch_between(before, after)), after)


@given(documents())
def test_equal_documents_need_no_patch(document: Json) -> None:
    """Neither a JSON patch nor a merge patch."""
    assert json_patch_between(document, document) == []
    assert merge_patch_between(document, document) == {}


@given(documents(), documents())
def test_a_merge_patch_turns_one_document_into_the_other(before: Json, after: Json) -> None:
    """Documents without nulls, which a merge patch cannot write."""
    before, after = without_nulls(before), without_nulls(after)

    assert same(merge(before, merge_patch_between(before, after)), after)


def test_keys_are_escaped_in_paths() -> None:
    """A slash and a tilde have a meaning in a JSON pointer."""
    made = json_patch_between({}, {"a/b~c": 1})

    assert made == [{"op": "add", "path": "/a~1b~0c", "value": 1}]
