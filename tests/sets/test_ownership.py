"""How a child names its parent (O1, O3)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, annotations_of, labels_of, owners_of
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.errors import OutputError, OwnerReferenceError
from myrmidon.sets import Apply, Parent, plan
from myrmidon.sets.ownership.owner_references import (
    PARENT_UID,
    is_tracked,
    parent_uid,
    tracked_parent,
)
from tests.fsm.things import Thing
from tests.sets.outputs import OURS, PARENT, PARENT_KIND, apply, manifest
from tests.strategies import NAMES

CLUSTER_KIND = PARENT_KIND._replace(namespaced=False)
NAMESPACES = st.sampled_from(["default", "other"])


def created(output: Apply, parent: Parent = PARENT) -> Json:
    """Return what is sent to create a child."""
    request = plan(output, None, parent)
    assert request is not None
    body: Json = request.body
    return body


@given(where=NAMESPACES, at_home=NAMESPACES, child=st.sampled_from([kinds.CONFIG_MAP, kinds.NAMESPACE]),
       cluster_parent=st.booleans())  # fmt: skip
def test_o3_a_reference_that_kubernetes_forbids_is_never_sent(
    where: str, at_home: str, child: Kind, cluster_parent: bool
) -> None:
    """An owner in another namespace, or a namespaced owner of a cluster-scoped child."""
    kind = CLUSTER_KIND if cluster_parent else PARENT_KIND
    parent = Parent(ObjectRef(kind, "parent", "" if cluster_parent else at_home), "parent-uid")
    output = apply(manifest({}, child, namespace=where))
    owner = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "o", "uid": "u"}}
    if not cluster_parent:
        owner["metadata"]["namespace"] = at_home  # type: ignore[index]
    plain = apply(manifest({}, child, namespace=where), owner=owner)

    allowed = cluster_parent or (child.namespaced and where == at_home)
    if allowed:
        assert owners_of(created(output, parent))[0]["uid"] == "parent-uid"
        assert owners_of(created(plain, parent)) == [
            {"apiVersion": "v1", "kind": "X", "name": "o", "uid": "u"}
        ]
    else:
        for refused in (output, plain):
            with pytest.raises(OwnerReferenceError, match="fix: apply it with owner_refs=False"):
                created(refused, parent)


def test_o3_the_errors_say_why() -> None:
    """The messages are compared word for word."""
    with pytest.raises(OwnerReferenceError) as across:
        created(apply(manifest({}, kinds.CONFIG_MAP, namespace="other")))
    with pytest.raises(OwnerReferenceError) as upwards:
        created(apply(manifest({}, kinds.NAMESPACE)))

    assert str(across.value) == (
        "ConfigMap other/child cannot be owned by Thing.example.com default/parent: "
        "it is in another namespace, and the garbage collector would delete the child.\n"
        "  fix: apply it with owner_refs=False; "
        "it is then tracked by label and deleted with its parent all the same"
    )
    assert str(upwards.value) == (
        "Namespace child cannot be owned by Thing.example.com default/parent: "
        "a namespaced object cannot own a cluster-scoped one, "
        "and the garbage collector would delete the child.\n"
        "  fix: apply it with owner_refs=False; "
        "it is then tracked by label and deleted with its parent all the same"
    )


@given(name=NAMES, namespace=st.sampled_from(["", "default"]), owned=st.booleans())
def test_o3_a_child_without_owner_reference_leads_back_to_its_parent(
    name: str, namespace: str, owned: bool
) -> None:
    """A label and an annotation name it; a child with an owner reference needs neither."""
    kind = PARENT_KIND if namespace else CLUSTER_KIND
    parent = Parent(ObjectRef(kind, name, namespace), "parent-uid")
    output = apply(manifest({}, kinds.CONFIG_MAP), owner_refs=owned)
    child = created(output, parent)

    assert is_tracked(output) is not owned
    assert owners_of(child) == ([{**OURS, "name": name}] if owned else [])
    assert labels_of(child).get(PARENT_UID) == (None if owned else "parent-uid")
    assert tracked_parent(child, kind) == (None if owned else parent.ref)
    assert tracked_parent(child, kinds.CONFIG_MAP) is None


def test_tracking_adds_to_what_was_declared() -> None:
    """Labels and annotations of the state stay; empty maps are handled."""
    meta: dict[str, Any] = {"labels": {"a": "b"}, "annotations": {"c": "d"}}
    child = created(apply(manifest({}, kinds.CONFIG_MAP, **meta), owner_refs=False))
    bare = created(
        apply(manifest({}, kinds.CONFIG_MAP, labels=None, annotations={}), owner_refs=False)
    )

    assert labels_of(child)["a"] == "b"
    assert annotations_of(child)["c"] == "d"
    assert labels_of(bare) == {PARENT_UID: "parent-uid"}
    assert (
        tracked_parent({"metadata": {"annotations": {"myrmidon.dev/parent": "x"}}}, PARENT_KIND)
        is None
    )


def test_an_owner_may_be_a_typed_object() -> None:
    """Or JSON as it was read."""
    raw = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "t", "namespace": "default", "uid": "thing-uid"},
        "spec": {},
    }
    child = created(apply(manifest({}, kinds.CONFIG_MAP), owner=Thing.from_json(raw)))

    assert owners_of(child) == [
        {"apiVersion": "example.com/v1", "kind": "Thing", "name": "t", "uid": "thing-uid"}
    ]


@pytest.mark.parametrize("field", ["uid", "name", "kind", "apiVersion"])
def test_an_owner_that_no_server_has_seen_is_refused(field: str) -> None:
    """It has no uid to refer to."""
    owner: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "uid": "u"}}
    (owner["metadata"] if field in owner["metadata"] else owner).pop(field)

    with pytest.raises(OutputError) as caught:
        created(apply(manifest({}, kinds.CONFIG_MAP), owner=owner))

    assert str(caught.value) == (
        f"the owner of ConfigMap default/child has no {field}: "
        "only an object that exists on the server can own another.\n"
        "  fix: pass an object that was read with ctx.get, or the parent itself"
    )


def test_the_uid_of_the_parent_is_that_of_the_controller_else_of_the_label() -> None:
    """O7: a controller reference decides; other owners do not count."""
    label = {"myrmidon.dev/parent-uid": "labelled"}
    owner, other = {"uid": "owner", "controller": True}, {"uid": "other"}
    assert parent_uid({"metadata": {"labels": label, "ownerReferences": [other, owner]}}) == "owner"
    assert parent_uid({"metadata": {"labels": label, "ownerReferences": [other]}}) == "labelled"
    assert parent_uid({"metadata": {"ownerReferences": [other]}}) == ""
    assert parent_uid({"metadata": {}}) == ""
