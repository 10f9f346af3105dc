"""The children that an object manages, as its status records them, whichever client wrote it."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from myrmidon import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.fsm.status.status import reference
from myrmidon.runtime.views.children import (
    Managed,
    by_parent,
    is_child,
    is_made_by,
    is_tracked_child,
    recorded,
)
from myrmidon.sets.ownership.owner_references import PARENT_UID

NAMED = {"apiVersion": "v1", "kind": "Secret", "name": "a", "namespace": "default"}


@pytest.mark.parametrize("entries", [None, "text", {"a": 1}, 7, [], ["text", 7, {}, {"kind": "X"}]])
def test_a_record_that_names_nothing_lists_nothing(entries: Any) -> None:
    """Any client may have written the status, so every malformed record is accepted."""
    assert recorded({"status": {"resourceRefs": entries}}, (kinds.SECRET,)) == []
    assert recorded({"status": None}, (kinds.SECRET,)) == []
    assert recorded({}, (kinds.SECRET,)) == []


def test_a_record_names_declared_kinds_and_others() -> None:
    """A kind that is no longer declared has no plural: it must be looked up before it is read."""
    strange = {"apiVersion": "x.example/v2", "kind": "Gone", "name": "b"}
    own, other = recorded({"status": {"resourceRefs": [NAMED, strange]}}, (kinds.SECRET,))

    assert own == ObjectRef(kinds.SECRET, "a", "default")
    assert (other.kind.group, other.kind.version, other.kind.kind) == ("x.example", "v2", "Gone")
    assert (other.kind.plural, other.kind.namespaced, other.namespace) == ("", False, "")
    (here,) = recorded({"status": {"resourceRefs": [NAMED]}}, ())
    assert here.kind.namespaced


def test_what_is_managed_during_a_pass() -> None:
    """The recorded and the applied objects, without deleted ones; also of undeclared kinds."""
    a, b, c = (ObjectRef(kinds.SECRET, name, "default") for name in "abc")
    strange = {"apiVersion": "x.example/v2", "kind": "Gone", "name": "b"}
    obj = {"status": {"resourceRefs": [NAMED, {**NAMED, "name": "b"}, strange]}}
    managed = Managed((kinds.SECRET,))

    managed.applied.update(dict.fromkeys((b, c)))
    other = managed.recorded(obj)[2]
    assert managed.unwanted(obj) == [a, other]
    assert managed.by_now(obj) == (a, b, other, c)

    managed.gone[a] = None
    assert managed.by_now(obj) == (b, other, c)
    assert managed.recorded({}) == []
    assert managed.by_now({}) == (b, c)


def child(owner: str | None = None, label: str | None = None) -> Json:
    """Build an object with a controller reference, a tracking label, or both."""
    owners = [{"uid": owner, "controller": True}] if owner else []
    labels = {PARENT_UID: label} if label else {}
    return {"metadata": {"ownerReferences": owners, "labels": labels}}


@pytest.mark.parametrize(
    ("obj", "ours", "tracked"),
    [
        (None, False, False),
        (child(), False, False),
        (child("us"), True, False),
        (child("them"), False, False),
        (child(label="us"), True, True),
        (child(label="them"), False, False),
        (child("them", "us"), False, False),
        (child("us", "them"), True, False),
    ],
)
def test_whose_child_it_is(obj: Json | None, ours: Any, tracked: Any) -> None:
    """A controller reference takes precedence over a label.

    Only without one we delete the child.
    """
    assert is_child(obj, "us") == ours
    assert is_tracked_child(obj, "us") == tracked
    assert by_parent(obj or {}) == [uid for uid in ("us", "them") if is_child(obj, uid)]


@pytest.mark.parametrize(
    ("metadata", "made"),
    [
        ({}, False),
        ({"annotations": {"applied.myrmidon.dev/shop.deployed": "1"}}, True),
        ({"annotations": {"applied.myrmidon.dev/shopping.deployed": "1"}}, False),
        ({"managedFields": [{"manager": "shop"}]}, True),
        ({"managedFields": [{"manager": "shop", "subresource": "status"}]}, False),
        ({"managedFields": [{"manager": "kubectl"}]}, False),
    ],
)
def test_which_controller_made_it(metadata: Json, made: Any) -> None:
    """It is known by the fingerprint of one of its states, or by the field managers."""
    assert is_made_by({"metadata": metadata}, "shop") == made


def test_a_found_child_is_managed_until_it_is_gone() -> None:
    """A13: a child that is found in the cache is recorded like one that the pass applied."""
    a, b = (ObjectRef(kinds.SECRET, name, "default") for name in "ab")
    managed = Managed((kinds.SECRET,))
    managed.applied[a] = None
    managed.found[b] = None
    assert managed.by_now({}) == (b, a)
    managed.gone[b] = None
    assert managed.by_now({}) == (a,)


_SOME = st.lists(st.sampled_from("abcd"), unique=True)


@given(_SOME, _SOME, _SOME, _SOME, _SOME)
@example(["a"], ["a"], [], [], ["b"])
@example(["a"], ["a"], ["b"], [], [])
@example(["a"], ["a"], [], ["a"], [])
def test_the_record_is_left_alone_only_if_it_is_right(
    listed: list[str], applied: list[str], found: list[str], gone: list[str], later: list[str]
) -> None:
    """O8: ``to_record`` is None only if the status lists exactly what the object manages now."""

    def refs(names: list[str]) -> dict[ObjectRef, None]:
        return {ObjectRef(kinds.SECRET, name, "default"): None for name in names}

    obj = {"status": {"resourceRefs": [reference(ref) for ref in refs(listed)]}}
    managed = Managed((kinds.SECRET,))
    managed.applied.update(refs(applied))
    managed.recorded(obj)  # as before the first child without an owner is written
    managed.applied.update(refs(later))
    managed.found.update(refs(found))
    managed.gone.update(refs(gone))

    wanted, by_now = managed.to_record(obj), managed.by_now(obj)
    if wanted is None:
        assert [reference(ref) for ref in by_now] == obj["status"]["resourceRefs"]
    else:
        assert wanted == by_now


@pytest.mark.parametrize("managed", [(kinds.SECRET,), ()], ids=["declared", "not declared"])
def test_an_object_does_not_manage_itself(managed: Any) -> None:
    """O8: a record that lists the object itself is ignored."""
    own = ObjectRef(kinds.SECRET, "a", "default")
    obj = {"status": {"resourceRefs": [NAMED, {**NAMED, "name": "b"}]}}
    assert [ref.name for ref in Managed(managed, own).recorded(obj)] == ["b"]


REFS = st.builds(
    ObjectRef,
    st.sampled_from((kinds.SECRET, kinds.CONFIG_MAP, kinds.NAMESPACE)),
    st.sampled_from("abc"),
    st.sampled_from(("", "default", "other")),
)


@given(on_record=st.lists(REFS, max_size=4), applied=st.lists(REFS, unique=True, max_size=4))
@example(on_record=[], applied=[])
@example(
    on_record=[ObjectRef(kinds.SECRET, "a", "default")],
    applied=[ObjectRef(kinds.SECRET, "a", "default")],
)
def test_the_record_does_not_depend_on_what_was_applied(
    on_record: list[ObjectRef], applied: list[ObjectRef]
) -> None:
    """A record that equals the applied objects is not decoded, with the same result."""
    declared = (kinds.SECRET, kinds.CONFIG_MAP, kinds.NAMESPACE)
    obj = {"status": {"resourceRefs": [reference(ref) for ref in on_record]}}
    same = list(dict.fromkeys(on_record))
    for emitted in (applied, same, same[::-1]):
        managed = Managed(declared)
        managed.applied.update(dict.fromkeys(emitted))
        assert managed.recorded(obj) == recorded(obj, declared) == on_record
