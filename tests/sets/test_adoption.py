"""O6, O7: which existing objects a controller may write or delete."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.request import Verb
from myrmidon.errors import AlreadyOwnedError, NotAdoptedError, TerminatingError
from myrmidon.sets import Apply, Delete, Output, OutputSet, plan
from myrmidon.sets.outputs.outputs import manager_of
from myrmidon.sets.ownership.adoption import is_adoption
from tests.sets.outputs import OTHER, OURS, PARENT, SPECS, WAYS, apply, manifest, ref_of
from tests.strategies import WIDGET

WAY = st.sampled_from(sorted(WAYS))
STRANGER: dict[str, Any] = {"uid": "u", "resourceVersion": "7"}
TRACKED = {"myrmidon.dev/parent-uid": "parent-uid"}
NAMED = {"myrmidon.dev/parent": "things.example.com/default/parent"}
OTHERS = {"myrmidon.dev/parent-uid": "other-uid"}
WRITTEN: list[Json] = [{"manager": "Things", "operation": "Update"}]


def outputs(spec: Json, *, adopt: bool = False) -> list[Output]:
    """Draw every way to write or delete the child."""
    applied: list[Output] = [
        apply(manifest(spec), adopt=adopt, **options, **more)
        for options in WAYS.values()
        for more in ({}, {"owner_refs": False})
    ]
    created = apply(manifest(spec), adopt=adopt, create_only=True)
    return [*applied, created, Delete(ref_of(), adopt=adopt, author="Things.made")]


@given(spec=SPECS, owners=st.sampled_from([[], [OTHER]]), creating=st.booleans())
def test_o6_an_object_without_parent_is_never_written_or_deleted_unasked(
    spec: Json, owners: list[Json], creating: bool
) -> None:
    """However it is written; the error names the object and both ways to allow the adoption."""
    there = manifest({}, ownerReferences=owners, **STRANGER)
    for output in outputs(spec):
        with pytest.raises(NotAdoptedError) as caught:
            plan(output, there, PARENT, creating=creating)
        verb = "apply" if isinstance(output, Apply) else "delete"
        assert str(caught.value) == (
            "Widget.example.com default/child exists, but this controller did not create it, and "
            "it does not name Thing.example.com default/parent as its owner; it was left alone.\n"
            "  fix: choose another name for the output, or allow its adoption: "
            f"out.{verb}(..., adopt=True) in the state, or "
            "`kubectl annotate widgets.example.com child -n default myrmidon.dev/adopt=true`"
        )


@given(spec=SPECS, allowed=st.sampled_from(["option", "true", "default/parent"]))
def test_o6_adoption_is_asked_for_by_option_or_annotation(spec: Json, allowed: str) -> None:
    """The annotation allows any parent, or the one that it names; ``create_only`` changes nothing."""
    notes = {} if allowed == "option" else {"myrmidon.dev/adopt": allowed}
    there = manifest({}, annotations=notes, **STRANGER)
    for output in outputs(spec, adopt=allowed == "option"):
        request = plan(output, there, PARENT)
        if isinstance(output, Apply) and output.options.create_only:
            assert request is None
        else:
            assert request is not None
        assert is_adoption(there, output, PARENT)


@pytest.mark.parametrize("value", ["false", "", "parent", "default/other"])
def test_o6_an_annotation_for_another_parent_allows_nothing(value: str) -> None:
    """Nor does an annotation with any other value."""
    there = manifest({}, annotations={"myrmidon.dev/adopt": value}, **STRANGER)
    for output in outputs({}):
        with pytest.raises(NotAdoptedError):
            plan(output, there, PARENT)


@pytest.mark.parametrize(
    "ours",
    [
        {"ownerReferences": [OTHER, OURS]},
        {"ownerReferences": [OTHER, {**OURS, "controller": False}]},
        {"labels": TRACKED},
        {"labels": OTHERS, "annotations": NAMED},
        {"managedFields": [{"manager": "kubectl"}, *WRITTEN]},
    ],
    ids=[
        "controller reference",
        "owner reference",
        "label",
        "label of an earlier parent of that name",
        "written",
    ],
)
def test_an_object_that_names_the_parent_or_was_written_by_the_controller_is_ours(
    ours: Json,
) -> None:
    """It needs no permission, and writing it is not an adoption."""
    there = manifest({"old": 1}, **ours, **STRANGER)
    for output in outputs({"new": 1}):
        request = plan(output, there, PARENT)
        if isinstance(output, Apply) and output.options.create_only:
            assert request is None
        else:
            assert request is not None
        assert not is_adoption(there, output, PARENT)


def test_writing_only_the_status_is_not_creating_the_object() -> None:
    """A controller may write conditions into an object of another party."""
    fields = [{"manager": "Things", "operation": "Update", "subresource": "status"}]
    with pytest.raises(NotAdoptedError):
        plan(apply(manifest({}), adopt=False), manifest({}, managedFields=fields), PARENT)


@given(spec=SPECS, adopt=st.booleans(), named=st.booleans(), deleting=st.booleans())
def test_o7_ownership_by_label_is_ownership(
    spec: Json, adopt: bool, named: bool, deleting: bool
) -> None:
    """An object of another parent is never written or deleted, also not with ``adopt``."""
    notes = {"myrmidon.dev/parent": "things.example.com/default/other"} if named else {}
    there = manifest({}, labels=OTHERS, annotations=notes, managedFields=WRITTEN, **STRANGER)
    if deleting:
        there["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    owner = "things.example.com/default/other" if named else "another parent"
    for output in outputs(spec, adopt=adopt):
        with pytest.raises(AlreadyOwnedError) as caught:
            plan(output, there, PARENT)
        assert str(caught.value) == (
            f"Widget.example.com default/child is controlled by {owner} (uid other-uid) "
            "and was left alone.\n"
            "  fix: choose another name for the output, "
            "or remove the label myrmidon.dev/parent-uid if that parent is gone"
        )


def test_a_label_says_nothing_beside_a_controller_reference() -> None:
    """Labels are copied from object to object; there is only one controller reference."""
    there = manifest({}, labels=OTHERS, ownerReferences=[OURS], **STRANGER)
    assert plan(apply(manifest({"a": 1}), adopt=False), there, PARENT) is not None


@pytest.mark.parametrize("way", WAYS)
def test_a_terminating_object_without_parent_is_waited_for(way: str) -> None:
    """When it is deleted, the child can be created; there is nothing to adopt."""
    going = manifest({}, deletionTimestamp="2026-01-01T00:00:00Z")
    with pytest.raises(TerminatingError):
        plan(apply(manifest({}), adopt=False, **WAYS[way]), going, PARENT)
    assert plan(Delete(ref_of()), going, PARENT) is None


@given(way=WAY, spec=SPECS)
def test_every_write_names_its_field_manager_and_is_strict(way: str, spec: Json) -> None:
    """The manager records who created an object; its name fits the server's limit (A14)."""
    for validation in ("Strict", "Warn"):
        output = apply(manifest(spec), **WAYS[way], field_validation=validation)
        for there in (None, manifest({"x": 1}, **STRANGER)):
            request = plan(output, there, PARENT)
            assert request is not None
            assert dict(request.query)["fieldManager"] == "Things"
            assert dict(request.query)["fieldValidation"] == validation
    named = OutputSet((WIDGET,), namespace="default", controller="c" * 200, state="s")
    named.apply(manifest({}))
    named.delete(WIDGET, "other")
    assert [manager_of(one) for one in named] == ["c" * 128] * 2
    assert manager_of(Delete(ref_of())) == "myrmidon"


def test_the_command_names_built_in_and_cluster_scoped_kinds() -> None:
    """It is a command that kubectl accepts."""
    out = OutputSet(kinds.ALL, namespace="default", controller="Things", state="made")
    out.delete(kinds.NAMESPACE, "n")
    (output,) = out
    with pytest.raises(NotAdoptedError, match="`kubectl annotate namespaces n myrmidon"):
        plan(output, {"metadata": {"name": "n"}}, PARENT)


def test_an_apply_that_should_create_does_not_hit_an_existing_object() -> None:
    """A13, O6: the server ignores the version where it creates, and refuses it where it does not."""
    request = plan(apply(manifest({}), server_side=True), None, PARENT)
    assert request is not None
    assert request.verb is Verb.PATCH
    assert request.body["metadata"]["resourceVersion"] == "1"
