"""C6, C11: the status as a JSON patch that tests only the values that it changes."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Patch, Verb
from myrmidon.fsm.status.status import status_request
from myrmidon.fsm.status.status_edits import status_edits
from myrmidon.patch.json_patch import JsonPatchError, apply_json_patch
from myrmidon.patch.merge_patch import merge
from tests.fsm.things import KIND

REF = ObjectRef(KIND, "a", "default")
OWN = ("First", "Second", "Ready")
THEIRS = ("Scanned", "Billed")


def condition(kind: str, message: str = "") -> Json:
    """A condition."""
    return {"type": kind, "status": "True", "message": message}


def obj_with(status: Json | None, uid: str = "u") -> Json:
    """Build an object as the server returns it."""
    obj: Json = {"metadata": {"name": "a", "uid": uid, "resourceVersion": "7"}, "spec": {}}
    return obj if status is None else {**obj, "status": status}


@st.composite
def writes(draw: st.DrawFn) -> tuple[Json | None, Json]:
    """Draw a status as it was read, and the fields that it should have."""
    there = draw(st.lists(st.sampled_from([*OWN, *THEIRS]), unique=True))
    read = [condition(kind) for kind in there]
    fate = draw(
        st.fixed_dictionaries({kind: st.sampled_from(["keep", "change", "drop"]) for kind in OWN})
    )
    wanted = [
        one if fate.get(one["type"], "keep") == "keep" else condition(one["type"], "new")
        for one in read
        if fate.get(one["type"]) != "drop"
    ]
    wanted += [
        condition(kind, "new") for kind in OWN if kind not in there and fate[kind] == "change"
    ]
    maps: st.SearchStrategy[Any] = st.dictionaries(
        st.sampled_from(["a", "b/c", "d~e"]), st.sampled_from([1, 2]), max_size=3
    )
    patches = st.dictionaries(
        st.sampled_from(["a", "b/c", "d~e"]), st.sampled_from([1, 2, None]), max_size=3
    )
    if draw(st.booleans()):
        status: Json = {
            "conditions": wanted,
            "urls": draw(patches),
            "note": draw(st.sampled_from(["x", None])),
        }
    else:
        status = {"conditions": wanted, "urls": draw(st.sampled_from(["plain", None]))}
    before: Json | None = {"conditions": read, "urls": draw(maps), "note": "old"}
    if not read and draw(st.booleans()):
        before = draw(st.sampled_from([None, {}, {"urls": None}]))
    return before, status


@given(write=writes())
def test_it_says_the_same_as_the_merge_patch(write: tuple[Json | None, Json]) -> None:
    """Without other writes both leave the same status, and both or neither are sent."""
    read, status = write
    obj = obj_with(read)
    edits, patch = status_edits(REF, obj, status), status_request(REF, obj, status)
    assert (edits is None) == (patch is None)
    if edits is None or patch is None:
        return
    assert (edits.verb, edits.patch, edits.subresource) == (Verb.PATCH, Patch.JSON, "status")
    done = apply_json_patch(deepcopy(obj), edits.body)
    assert done["status"] == merge(obj, patch.body)["status"]


@given(write=writes(), mover=st.permutations(range(5)), front=st.booleans())
def test_c6_nothing_of_other_writers_is_lost(
    write: tuple[Json | None, Json], mover: list[int], front: bool
) -> None:
    """After any change by others, the patch is refused or changes only our fields."""
    read, status = write
    edits = status_edits(REF, obj_with(read), status)
    if edits is None or read is None:
        return
    there = [
        one
        for _, one in sorted(
            zip(mover, read.get("conditions") or (), strict=False), key=lambda each: each[0]
        )
    ]
    there = [condition(one["type"], "beat") if one["type"] in THEIRS else one for one in there]
    there = [condition("Late"), *there] if front else [*there, condition("Late")]
    server = obj_with({**read, "conditions": there, "other": "theirs"})
    try:
        done = apply_json_patch(server, edits.body)
    except JsonPatchError:
        return
    after = done["status"]["conditions"]
    theirs = [one for one in there if one["type"] not in OWN]
    assert [one for one in after if one["type"] not in OWN] == theirs
    wanted = {one["type"]: one for one in status["conditions"] if one["type"] in OWN}
    assert {one["type"]: one for one in after if one["type"] in OWN} == wanted
    assert done["status"]["other"] == "theirs"


@given(write=writes())
def test_c11_a_changed_neighbour_does_not_matter(write: tuple[Json | None, Json]) -> None:
    """Others may change or append conditions, other fields and metadata: it still applies."""
    read, status = write
    edits = status_edits(REF, obj_with(read), status)
    if edits is None or not (read or {}).get("conditions"):
        return
    assert read is not None
    moved = [
        condition(one["type"], "beat") if one["type"] in THEIRS else one
        for one in read["conditions"]
    ]
    server = obj_with({**read, "conditions": [*moved, condition("Late")], "other": 1})
    server["metadata"]["resourceVersion"] = "8"
    apply_json_patch(server, edits.body)


@pytest.mark.parametrize("status", [None, {}, {"conditions": [condition("Ready")]}])
def test_c5_a_namesake_is_not_touched(status: Json | None) -> None:
    """An object of the same name with another uid is not changed."""
    edits = status_edits(REF, obj_with(status), {"conditions": [condition("Ready", "new")]})
    assert edits is not None
    with pytest.raises(JsonPatchError):
        apply_json_patch(obj_with(status, uid="another"), edits.body)


@pytest.mark.parametrize("status", [None, {}])
def test_a_list_that_another_writer_began_is_not_replaced(status: Json | None) -> None:
    """The object had no list of conditions when it was read."""
    edits = status_edits(REF, obj_with(status), {"conditions": [condition("Ready")]})
    assert edits is not None
    with pytest.raises(JsonPatchError):
        apply_json_patch(obj_with({"conditions": [condition("Scanned")]}), edits.body)


def test_an_entry_that_is_not_a_condition_stays() -> None:
    """Another writer wrote it, and the schema allowed it."""
    read = {"conditions": ["junk", condition("Ready"), None]}
    edits = status_edits(
        REF, obj_with(read), {"conditions": ["junk", condition("Ready", "new"), None]}
    )
    assert edits is not None
    done = apply_json_patch(obj_with(read), edits.body)
    assert done["status"]["conditions"] == ["junk", condition("Ready", "new"), None]
    edits = status_edits(REF, obj_with(read), {"conditions": ["junk"]})
    assert edits is not None
    with pytest.raises(JsonPatchError):
        apply_json_patch(obj_with(read), edits.body)


def test_a_status_that_holds_needs_no_request() -> None:
    """No request is sent if nothing differs."""
    held = {"conditions": [condition("Ready")], "note": "x"}
    assert status_edits(REF, obj_with(held), dict(held)) is None


def test_a_status_that_is_not_a_map_is_replaced() -> None:
    """Another writer wrote it, and the schema allowed it."""
    obj = {**obj_with(None), "status": "text"}
    edits = status_edits(REF, obj, {"conditions": [condition("Ready")]})
    assert edits is not None
    assert apply_json_patch(obj, edits.body)["status"] == {"conditions": [condition("Ready")]}
