"""W4: edits of the finalizers lose no entry of another party, whatever the interleaving."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Patch, Verb
from myrmidon.fsm.metadata.finalizers import add_finalizer, remove_finalizer
from myrmidon.patch.json_patch import JsonPatchError, apply_json_patch
from tests.fsm.things import KIND

OURS = "example.com/thing"
REF = ObjectRef(KIND, "a", "default")
OTHERS = st.lists(st.sampled_from(["x/1", "x/2", "x/3"]), unique=True)


def obj_with(finalizers: list[str], uid: str = "u") -> Json:
    """The object as the server has it: an empty list is not printed."""
    meta: dict[str, Any] = {"name": "a", "uid": uid}
    return {"metadata": {**meta, "finalizers": finalizers} if finalizers else meta}


@given(seen=OTHERS, there=OTHERS, index=st.integers(0, 3), adding=st.booleans())
def test_w4_no_edit_loses_a_finalizer_of_others(
    seen: list[str], there: list[str], index: int, adding: bool
) -> None:
    """Whatever happened since the read: exactly our entry is edited, or the edit is refused."""
    if adding:
        request = add_finalizer(REF, obj_with(seen), OURS)
        current, expected = list(there), [*there, OURS]
    else:
        seen.insert(min(index, len(seen)), OURS)
        request = remove_finalizer(REF, obj_with(seen), OURS)
        current = list(there)
        current.insert(min(index, len(current)), OURS)
        expected = there

    assert (request.verb, request.patch, request.ref) == (Verb.PATCH, Patch.JSON, REF)
    try:
        done = apply_json_patch(obj_with(current), request.body)
    except JsonPatchError:
        assert current != seen
    else:
        assert done["metadata"].get("finalizers", []) == expected


@given(seen=OTHERS, more=st.lists(st.sampled_from(["y/1", "y/2"]), min_size=1, unique=True))
def test_c11_entries_behind_ours_do_not_matter(seen: list[str], more: list[str]) -> None:
    """Our entry can be edited although another party keeps appending to the list."""
    known = [*seen, "x/0"]
    done = apply_json_patch(
        obj_with([*known, *more]), add_finalizer(REF, obj_with(known), OURS).body
    )
    assert done["metadata"]["finalizers"] == [*known, *more, OURS]
    request = remove_finalizer(REF, obj_with([*known, OURS]), OURS)
    done = apply_json_patch(obj_with([*known, OURS, *more]), request.body)
    assert done["metadata"]["finalizers"] == [*known, *more]


def test_an_entry_that_two_processes_added_is_removed_twice() -> None:
    """An entry that is left over would block the deletion for ever."""
    twice = obj_with([OURS, "x/1", OURS])
    done = apply_json_patch(twice, remove_finalizer(REF, twice, OURS).body)
    assert done["metadata"]["finalizers"] == ["x/1"]


@given(seen=OTHERS)
def test_w4_a_namesake_is_not_touched(seen: list[str]) -> None:
    """An object of the same name with another uid is not edited."""
    for request in (
        add_finalizer(REF, obj_with(seen), OURS),
        remove_finalizer(REF, obj_with([*seen, OURS]), OURS),
    ):
        for finalizers in (seen, [*seen, OURS]):
            with pytest.raises(JsonPatchError):
                apply_json_patch(obj_with(finalizers, uid="another"), request.body)
