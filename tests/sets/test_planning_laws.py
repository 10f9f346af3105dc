"""The laws of applying, on a model of the server."""

from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, annotations_of, owners_of, uid_of, version_of
from myrmidon.api.objects.refs import Kind
from myrmidon.api.requests.request import Verb
from myrmidon.api.values.equality import same
from myrmidon.errors import AlreadyOwnedError, ApiError, MissingLockError, TerminatingError
from myrmidon.patch import covers, merge
from myrmidon.sets import Delete, plan
from myrmidon.sets.fingerprints import fingerprint
from myrmidon.sets.planning import plan_delete
from tests.sets.model_server import DEFAULT, ModelServer
from tests.sets.outputs import (
    FOREIGN,
    KINDS,
    LABELS,
    OTHER,
    OURS,
    PARENT,
    SPECS,
    WAYS,
    apply,
    manifest,
    ref_of,
)
from tests.strategies import WIDGET, without_nulls

WAY = st.sampled_from(sorted(WAYS))
OWNERS = st.sampled_from([[], [OTHER], [OURS], [OTHER, OURS]])


def server_for(kind: Kind, way: str) -> ModelServer:
    """Return a model server: built-in kinds drop empty values and have known defaults."""
    built_in = kind is not WIDGET
    return ModelServer(drops_empty=built_in, fills_in=not (built_in and way == "update"))


def content(obj: Json | None) -> Any:
    """Return what was declared as the server stored it, without the values that it filled in."""

    def stripped(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: stripped(item) for key, item in value.items() if key != DEFAULT}
        return [stripped(item) for item in value] if isinstance(value, list) else value

    assert obj is not None
    return stripped(obj.get("spec", {}))


@given(way=WAY, kind=KINDS, before=SPECS, spec=SPECS, labels=LABELS, owners=OWNERS)
@example(way="merge", kind=WIDGET, before={}, spec={}, labels={"a": None}, owners=[])
@example(way="merge", kind=WIDGET, before={}, spec={}, labels={}, owners=[OTHER])
def test_a2_applying_twice_is_applying_once(  # noqa: PLR0917 - all that may vary
    way: str, kind: Kind, before: Json, spec: Json, labels: Any, owners: list[Json]
) -> None:
    """From any object, the second plan is empty, also in a process with no memory of the first."""
    server, ref = server_for(kind, way), ref_of(kind)
    server.put(ref, manifest(without_nulls(before), kind, ownerReferences=owners))

    output = apply(manifest(spec, kind, labels=labels), **WAYS[way])
    server.send(plan(output, server.get(ref), PARENT))
    if (way, kind) == ("update", WIDGET):
        # Only now it is known whether the update removed only defaults: at most one more write.
        server.send(plan(output, server.get(ref), PARENT))
    restarted = apply(manifest(spec, kind, labels=labels), **WAYS[way])

    assert plan(restarted, server.get(ref), PARENT) is None


@given(way=WAY, kind=KINDS, spec=SPECS, labels=LABELS)
def test_a3_a_new_child_costs_one_write(way: str, kind: Kind, spec: Json, labels: Any) -> None:
    """The child is created by one request, and nothing else is sent."""
    server, ref = server_for(kind, way), ref_of(kind)
    output = apply(manifest(spec, kind, labels=labels), **WAYS[way])

    server.send(plan(output, None, PARENT))

    assert server.writes == 1
    assert plan(output, server.get(ref), PARENT) is None


@given(way=WAY, kind=KINDS, first=SPECS, second=SPECS)
def test_a2_a_changed_declaration_converges_in_one_write(
    way: str, kind: Kind, first: Json, second: Json
) -> None:
    """The object then has the declared content, whatever was declared before."""
    server, ref = server_for(kind, way), ref_of(kind)
    server.send(plan(apply(manifest(first, kind), **WAYS[way]), None, PARENT))

    output = apply(manifest(second, kind), **WAYS[way])
    server.send(plan(output, server.get(ref), PARENT))

    assert covers(server.get(ref), manifest(second, kind), built_in=kind is not WIDGET)
    assert plan(output, server.get(ref), PARENT) is None


@given(way=WAY, spec=SPECS, change=st.dictionaries(st.sampled_from("abc"), st.integers(5, 6)))
def test_a2_an_object_that_is_read_changed_and_applied_again_converges(
    way: str, spec: Json, change: Json
) -> None:
    """Its old annotations are not part of the declaration.

    Each pass reads the result of the last.
    """
    server, ref = ModelServer(), ref_of()
    server.send(plan(apply(manifest(spec), **WAYS[way]), None, PARENT))
    for _ in range(2):
        read = server.get(ref)
        assert read is not None
        read["spec"] = {**read["spec"], **change}
        server.send(plan(apply(read, **WAYS[way]), server.get(ref), PARENT))
    read = server.get(ref)
    assert read is not None

    assert plan(apply(read, **WAYS[way]), read, PARENT) is None


# ------------------------------------------------------------------------- A4


@given(kind=KINDS, current=SPECS, spec=SPECS)
def test_a4_fields_not_mentioned_survive(kind: Kind, current: Json, spec: Json) -> None:
    """Fields that others own are never touched by a merge."""
    server, ref = ModelServer(), ref_of(kind)
    there = server.put(ref, manifest(without_nulls(current), kind))["spec"]

    server.send(plan(apply(manifest(spec, kind)), server.get(ref), PARENT))

    now = server.objects[ref]["spec"]
    assert all(same(now[key], there[key]) for key in there.keys() - spec.keys())


@given(kind=KINDS, current=SPECS, spec=SPECS)
def test_a4_null_deletes(kind: Kind, current: Json, spec: Json) -> None:
    """An explicit None removes a field."""
    server, ref = ModelServer(), ref_of(kind)
    server.put(ref, manifest(without_nulls(current), kind))

    server.send(plan(apply(manifest(spec, kind)), server.get(ref), PARENT))

    now = server.objects[ref]["spec"]
    assert not any(key in now for key, value in spec.items() if value is None)


@given(current=SPECS, spec=SPECS, stale=SPECS)
def test_a4_the_request_is_what_was_declared(current: Json, spec: Json, stale: Json) -> None:
    """The request is not a difference from a possibly stale read: any read has the same result."""
    server, ref = ModelServer(), ref_of()
    server.put(ref, manifest(without_nulls(current), ownerReferences=[OURS]))
    read = server.get(ref)
    assert read is not None
    believed = {**read, "spec": without_nulls(stale)}

    request = plan(apply(manifest(spec)), believed, PARENT)
    assume(request is not None)
    assert request is not None

    assert request.verb is Verb.PATCH
    assert same(request.body["spec"], spec)
    server.send(request)
    assert covers(server.get(ref), manifest(spec))


ELEMENTS = st.lists(
    st.dictionaries(st.sampled_from("ab"), st.integers(0, 2) | st.none() | st.just(False)),
    min_size=1,
    max_size=2,
)


@pytest.mark.parametrize("way", WAYS)
@given(kind=KINDS, first=ELEMENTS, second=ELEMENTS)
@example(kind=WIDGET, first=[{"a": 1, "b": 2}], second=[{"a": 1}])
def test_a4_a_field_removed_inside_a_list_element_is_removed(
    way: str, kind: Kind, first: list[Json], second: list[Json]
) -> None:
    """The fingerprint tells it from a default of the server, also after a restart."""
    server, ref = server_for(kind, way), ref_of(kind)
    server.send(plan(apply(manifest({"list": first}, kind), **WAYS[way]), None, PARENT))

    output = apply(manifest({"list": second}, kind), **WAYS[way])
    server.send(plan(output, server.get(ref), PARENT))

    wanted = [
        {key: value for key, value in element.items() if value or kind is WIDGET}
        for element in without_nulls(second)
    ]
    assert content(server.get(ref)) == {"list": wanted}
    assert plan(output, server.get(ref), PARENT) is None


@pytest.mark.parametrize("way", ["merge", "server-side"])
@given(kind=KINDS, first=ELEMENTS, second=ELEMENTS)
def test_a4_a_fingerprint_on_the_object_is_never_stale(
    way: str, kind: Kind, first: list[Json], second: list[Json]
) -> None:
    """Each write updates or removes it, also one whose declaration needs no fingerprint."""
    server, ref = server_for(kind, way), ref_of(kind)
    specs: list[Json] = [{"list": first}, {"list": []}, {"plain": "text"}, {"list": second}]
    for spec in specs:
        output = apply(manifest(spec, kind), **WAYS[way])
        server.send(plan(output, server.get(ref), PARENT))
        assert plan(output, server.get(ref), PARENT) is None
        there = annotations_of(server.get(ref) or {})
        marks = [there[key] for key in there if key.startswith("applied.myrmidon.dev/")]
        assert marks in ([], [fingerprint(output.manifest)])


# ------------------------------------------------------------------------- A6, A7


@given(
    way=WAY,
    spec=SPECS,
    there=st.none() | SPECS,
    seen=st.integers(0, 3),
    creating=st.booleans(),
    owners=OWNERS,
)
@example(way="merge", spec={"a": 1}, there={}, seen=2, creating=True, owners=[])
def test_a6_a_lock_holds_on_every_path(  # noqa: PLR0917 - the paths
    way: str, spec: Json, there: Json | None, seen: int, creating: bool, owners: list[Json]
) -> None:
    """Whether the read was stale or empty: a write is locked by the declared version."""
    server, ref = ModelServer(), ref_of()
    for count in range(2):
        server.put(ref, manifest({"n": count}, ownerReferences=owners))
    writes = server.writes
    believed = None if there is None else {**server.objects[ref], "spec": without_nulls(there)}

    locked = manifest(spec, resourceVersion=str(seen))
    request = plan(
        apply(locked, optimistic_lock=True, **WAYS[way]), believed, PARENT, creating=creating
    )

    if request is None:
        return
    assert request.body["metadata"]["resourceVersion"] == str(seen)
    try:
        server.send(request)
    except ApiError:
        assert seen != 2
        assert server.writes == writes
    else:
        assert seen == 2


@pytest.mark.parametrize("way", WAYS)
@given(spec=SPECS)
def test_a6_a_locked_object_that_was_deleted_is_not_created_again(way: str, spec: Json) -> None:
    """Whether or not the cache knows about the deletion."""
    server, ref = ModelServer(), ref_of()
    there = server.put(ref, manifest({"n": 1}))
    output = apply(manifest(spec, resourceVersion="1"), optimistic_lock=True, **WAYS[way])
    del server.objects[ref]

    for believed in (None, there):
        request = plan(output, believed, PARENT)
        if request is not None:
            with pytest.raises(ApiError):
                server.send(request)
    assert server.objects == {}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("there", [None, manifest({})], ids=["absent", "there"])
def test_a6_a_lock_without_a_version_is_an_error_before_anything_is_sent(
    way: str, there: Json | None
) -> None:
    """With the fix."""
    output = apply(manifest({}), optimistic_lock=True, **WAYS[way])

    with pytest.raises(MissingLockError) as caught:
        plan(output, there, PARENT)

    assert str(caught.value) == (
        "Widget.example.com default/child is applied with optimistic_lock=True, "
        "but has no metadata.resourceVersion.\n"
        "  fix: read the object with ctx.get, change the copy and apply that, or drop optimistic_lock"
    )


@given(kind=KINDS, spec=SPECS, extra=SPECS, labels=st.sampled_from([{}, {"theirs": "x"}]))
@example(kind=WIDGET, spec={"a": 1}, extra={"b": 2}, labels={})
@example(kind=WIDGET, spec={"a": 1}, extra={}, labels={"theirs": "x"})
@example(kind=kinds.CONFIG_MAP, spec={"a": 1}, extra={"b": 2}, labels={})
def test_a7_a_full_update_removes_undeclared_fields(
    kind: Kind, spec: Json, extra: Json, labels: Json
) -> None:
    """Fields that the state left out are removed, also if all declared fields are there already."""
    server, ref = ModelServer(fills_in=False), ref_of(kind)
    there = without_nulls({**extra, **spec})
    server.put(ref, manifest(there, kind, ownerReferences=[OURS], labels=labels))

    server.send(plan(apply(manifest(spec, kind), as_update=True), server.get(ref), PARENT))

    assert same(server.objects[ref]["spec"], without_nulls(spec))
    assert "labels" not in server.objects[ref]["metadata"]


@given(spec=SPECS)
def test_a7_an_update_takes_the_version_that_it_was_decided_on(spec: Json) -> None:
    """Without a lock it is the cached version; a conflict then causes a new pass, not a failure."""
    server, ref = ModelServer(), ref_of()
    server.put(ref, manifest({"n": 1}))
    read = server.get(ref)
    assert read is not None

    request = plan(apply(manifest(spec), as_update=True), read, PARENT)

    assert request is not None
    assert request.verb is Verb.UPDATE
    assert version_of(request.body) == version_of(read)


@given(spec=SPECS, claims=st.sampled_from([[], ["example.com/theirs"]]), owners=OWNERS)
def test_a7_an_update_keeps_finalizers_and_owner_references_of_others(
    spec: Json, claims: list[str], owners: list[Json]
) -> None:
    """They are not ours to remove."""
    server, ref = ModelServer(), ref_of()
    server.put(ref, manifest({"n": 1}, finalizers=claims, ownerReferences=owners))

    server.send(plan(apply(manifest(spec), as_update=True), server.get(ref), PARENT))

    stored = server.objects[ref]["metadata"]
    assert stored.get("finalizers", []) == claims
    assert all(owner in stored["ownerReferences"] for owner in owners)


# ------------------------------------------------------------------------- O1 - O4


@given(way=WAY, owners=OWNERS, declared=OWNERS, spec=SPECS)
def test_o1_a_child_gets_our_reference_and_keeps_all_others(
    way: str, owners: list[Json], declared: list[Json], spec: Json
) -> None:
    """It has our controller reference, and every reference that existed or was declared."""
    server, ref = ModelServer(), ref_of()
    server.put(ref, manifest({}, ownerReferences=owners))
    output = apply(manifest(spec, ownerReferences=declared), **WAYS[way])

    server.send(plan(output, server.get(ref), PARENT))

    now = owners_of(server.objects[ref])
    assert OURS in now
    assert all(owner in now for owner in (*owners, *declared))
    assert len({owner["uid"] for owner in now}) == len(now)
    assert plan(output, server.get(ref), PARENT) is None


@given(owners=OWNERS, spec=SPECS)
def test_o1_adopting_cannot_lose_a_reference_that_was_added_meanwhile(
    owners: list[Json], spec: Json
) -> None:
    """The list is replaced as a whole, so the request is bound to the version that was read."""
    server, ref = ModelServer(), ref_of()
    server.put(ref, manifest({}, ownerReferences=owners))
    request = plan(apply(manifest(spec)), server.get(ref), PARENT)
    third = {**OTHER, "uid": "third-uid"}
    server.put(ref, manifest({}, ownerReferences=[*owners, third]))

    if request is not None:
        try:
            server.send(request)
        except ApiError:
            assert OURS not in owners
    assert third in owners_of(server.objects[ref])


@given(way=WAY, spec=SPECS, owners=OWNERS)
def test_o1_owner_references_are_left_alone_on_request(
    way: str, spec: Json, owners: list[Json]
) -> None:
    """With ``owner_refs=False`` they are neither added nor changed."""
    server, ref = ModelServer(), ref_of()
    server.put(ref, manifest({}, ownerReferences=owners))
    output = apply(manifest(spec), owner_refs=False, **WAYS[way])

    server.send(plan(output, server.get(ref), PARENT))

    assert owners_of(server.objects[ref]) == owners
    assert plan(output, server.get(ref), PARENT) is None


@given(owners=OWNERS, declared=OWNERS)
def test_o1_a_state_that_manages_owner_references_declares_them(
    owners: list[Json], declared: list[Json]
) -> None:
    """With ``owner_refs=False`` a declared list replaces the existing one, like any other list."""
    server, ref = ModelServer(), ref_of()
    server.put(ref, manifest({}, ownerReferences=owners))
    output = apply(manifest({}, ownerReferences=declared), owner_refs=False)

    server.send(plan(output, server.get(ref), PARENT))

    assert owners_of(server.objects[ref]) == declared
    assert plan(output, server.get(ref), PARENT) is None


@given(way=WAY, spec=SPECS, deleting=st.booleans(), creating=st.booleans())
def test_o2_an_object_that_another_controller_owns_is_left_alone(
    way: str, spec: Json, deleting: bool, creating: bool
) -> None:
    """It is never adopted, patched or deleted; the error names the owner."""
    there = manifest({}, ownerReferences=[OTHER, {**FOREIGN, "uid": "foreign-uid"}])
    if deleting:
        there["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    for output in (apply(manifest(spec), **WAYS[way]), Delete(ref_of())):
        with pytest.raises(AlreadyOwnedError) as caught:
            plan(output, there, PARENT, creating=creating)
        assert str(caught.value) == (
            "Widget.example.com default/child is controlled by Pod other (uid foreign-uid) "
            "and was left alone.\n"
            "  fix: choose another name for the output, "
            "or remove the other controller's owner reference"
        )


@given(spec=SPECS)
def test_o4_a_delete_does_nothing_to_a_namesake(spec: Json) -> None:
    """The request carries the uid of the object that was meant."""
    server, ref = ModelServer(), ref_of()
    server.put(ref, manifest(without_nulls(spec)))
    request = plan(Delete(ref, adopt=True), server.get(ref), PARENT)
    assert request is not None
    assert request.body == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": uid_of(server.objects[ref])},
        "propagationPolicy": "Background",
    }
    del server.objects[ref]
    server.put(ref, manifest({"new": True}))

    with pytest.raises(ApiError):
        server.send(request)
    assert ref in server.objects


@given(way=WAY, spec=SPECS, owned=st.booleans(), lock=st.booleans())
def test_o4_a_change_does_nothing_to_a_namesake(
    way: str, spec: Json, owned: bool, lock: bool
) -> None:
    """O2, O6: an object created under the same name since the read belongs to another party."""
    server, ref = ModelServer(), ref_of()
    there = server.put(ref, manifest({"old": 1}, ownerReferences=[OURS] if owned else []))
    meta: dict[str, Any] = {"resourceVersion": version_of(there)} if lock else {}
    output = apply(manifest({**spec, "new": 1}, **meta), optimistic_lock=lock, **WAYS[way])
    request = plan(output, server.get(ref), PARENT)
    del server.objects[ref]
    server.put(ref, manifest({"theirs": True}))

    with pytest.raises(ApiError):
        server.send(request)
    assert server.objects[ref]["spec"] == {"theirs": True}


def test_o4_an_object_that_was_changed_is_not_deleted_on_old_data() -> None:
    """With ``unchanged`` the server compares the resourceVersion as well as the uid."""
    current = manifest({}, uid="u", resourceVersion="7")
    request = plan_delete(ref_of(), current, unchanged=True)

    assert request is not None
    assert request.body["preconditions"] == {"uid": "u", "resourceVersion": "7"}


def test_o4_an_absent_or_terminating_object_is_not_deleted_again() -> None:
    """No request is sent."""
    going = manifest({}, uid="u", deletionTimestamp="2026-01-01T00:00:00Z")

    assert plan(Delete(ref_of()), None, PARENT) is None
    assert plan(Delete(ref_of()), going, PARENT) is None


# ------------------------------------------------------------------------- W5 and the rest


@given(way=WAY, there=st.none() | SPECS, spec=SPECS)
def test_w5_nothing_appears_while_the_parent_is_deleted(
    way: str, there: Json | None, spec: Json
) -> None:
    """Existing objects may be changed."""
    server, ref = ModelServer(), ref_of()
    if there is not None:
        server.put(ref, manifest(without_nulls(there)))
    output = apply(manifest(spec), **WAYS[way])

    server.send(plan(output, server.get(ref), PARENT, creating=False))

    assert (ref in server.objects) == (there is not None)
    if there is not None:
        # A server-side apply cannot ask for the absence of a field that another manager set.
        declared = without_nulls(spec) if way == "server-side" else spec
        assert covers(server.get(ref), manifest(declared))


@pytest.mark.parametrize("way", WAYS)
def test_a_terminating_object_is_waited_for(way: str) -> None:
    """It cannot be created before it is gone; while the parent is deleted there is no wait."""
    going = manifest({}, deletionTimestamp="2026-01-01T00:00:00Z")
    output = apply(manifest({}), **WAYS[way])

    with pytest.raises(TerminatingError, match="is being deleted; it is created again"):
        plan(output, going, PARENT)
    assert plan(output, going, PARENT, creating=False) is None


@given(there=SPECS, spec=SPECS)
def test_create_only_creates_and_never_changes(there: Json, spec: Json) -> None:
    """An existing object stays as it is."""
    output = apply(manifest(spec), create_only=True)
    created = plan(output, None, PARENT)

    assert created is not None
    assert created.verb is Verb.CREATE
    assert plan(output, manifest(there), PARENT) is None


@given(spec=SPECS)
def test_server_side_apply_names_its_manager(spec: Json) -> None:
    """The default is the controller's name, and conflicts are not forced unless asked for."""
    request = plan(apply(manifest(spec), server_side=True), None, PARENT)
    named = plan(
        apply(manifest(spec), server_side=True, field_manager="me", force=True), None, PARENT
    )

    assert request is not None
    strict = ("fieldValidation", "Strict")
    assert request.query == (("fieldManager", "Things"), strict, ("force", "false"))
    assert named is not None
    assert named.query == (("fieldManager", "me"), strict, ("force", "true"))


@given(spec=SPECS, extra=SPECS)
def test_pods_keep_what_admission_appended(spec: Json, extra: Json) -> None:
    """Tolerations and volumes: the server would always refuse the shorter list."""
    output = apply(manifest({"tolerations": [{"key": "a"}], "spec": spec}, kinds.POD))
    server = ModelServer(drops_empty=True)
    server.send(plan(output, None, PARENT))
    there = server.get(output.ref)
    assert there is not None
    there = merge(there, {"spec": {"tolerations": [*there["spec"]["tolerations"], extra]}})

    assert plan(output, there, PARENT) is None
