"""Patches: what is sent, when nothing is sent, and what is refused where it is written."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Patch
from myrmidon.api.values.equality import same
from myrmidon.errors import MissingObjectError, OutputError
from myrmidon.patch import merge
from myrmidon.patch.json_patch import apply_json_patch
from myrmidon.sets import Edit, OutputSet, plan
from myrmidon.sets.outputs.edits import basis_of, is_own_edit
from tests.sets.outputs import PARENT, SPECS, manifest, ref_of
from tests.strategies import WIDGET, without_nulls

REF = ref_of()
PATHS = st.sampled_from(["/spec/a", "/spec/b", "/spec/c", "/spec/a/b", "/spec/list/0"])
VALUES: st.SearchStrategy[Any] = st.sampled_from([1, True, "x", [], {"b": 1}, None])
OPERATIONS = st.lists(
    st.builds(
        lambda op, path, value, source: {"op": op, "path": path, "value": value, "from": source},
        st.sampled_from(["add", "remove", "replace", "test", "copy", "move"]),
        PATHS,
        VALUES,
        PATHS,
    ),
    max_size=4,
)


def stored(spec: Json, **meta: Any) -> Json:
    """Build the object as the server has it."""
    return manifest(spec, uid="u", resourceVersion="7", **meta)


def outputs() -> OutputSet:
    """Return an output set that takes every kind of the tests."""
    own = ObjectRef(WIDGET, "own", "default")
    return OutputSet((*kinds.ALL, WIDGET), namespace="default", controller="Things", own=own)


@pytest.mark.law("G7")
@given(current=SPECS, body=SPECS)
def test_a2_a_merge_patch_is_sent_only_if_it_has_an_effect(current: Json, body: Json) -> None:
    """The effect is judged without the uid, which is sent only as a guard."""
    before = stored(without_nulls(current))
    request = plan(Edit(REF, {"spec": body}), before, PARENT)
    after = merge(before, {"spec": body})

    assert (request is None) is same(after, before)
    if request is not None:
        assert same(merge(before, request.body), after)
        assert plan(Edit(REF, {"spec": body}), merge(before, request.body), PARENT) is None


@given(current=SPECS, operations=OPERATIONS)
def test_a2_a_json_patch_converges_or_is_refused(current: Json, operations: Any) -> None:
    """It applies to the object, and a second plan sends nothing."""
    before = stored({**without_nulls(current), "list": [1]})
    output = Edit(REF, operations, "json")
    try:
        request = plan(output, before, PARENT)
    except OutputError:
        return
    if request is None:
        return
    assert request.patch is Patch.JSON
    after = apply_json_patch(before, request.body)
    after = {**after, "metadata": {**after["metadata"], "resourceVersion": "8"}}

    assert plan(output, after, PARENT) is None


def test_a_json_patch_tests_the_version_that_it_was_decided_on() -> None:
    """It takes effect on exactly that object; removals without effect are left out."""
    operations = [
        {"op": "remove", "path": "/spec/gone"},
        {"op": "replace", "path": "/spec/a", "value": 2},
    ]
    request = plan(Edit(REF, operations, "json"), stored({"a": 1}), PARENT)

    assert request is not None
    assert request.body == [
        {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
        operations[1],
    ]


def test_a_test_that_fails_ends_a_json_patch_without_effect() -> None:
    """A failed test is the condition that its author wrote, and not an error."""
    guarded = [
        {"op": "test", "path": "/spec/list", "value": [1]},
        {"op": "add", "path": "/spec/list/-", "value": 2},
    ]
    assert plan(Edit(REF, guarded, "json"), stored({"list": [1]}), PARENT) is not None
    assert plan(Edit(REF, guarded, "json"), stored({"list": [1, 2]}), PARENT) is None


@pytest.mark.parametrize(
    ("operations", "said"),
    [
        ([{"op": "add", "path": "/spec/list/-", "value": 2}], "changes its own result"),
        ([{"op": "move", "from": "/spec/list", "path": "/spec/b"}], "changes its own result"),
        (
            [{"op": "add", "path": "/spec/x/y", "value": 2}],
            "cannot be applied: doc is missing path",
        ),
        (["add"], "cannot be applied: an operation must be a map"),
    ],
    ids=["append", "move", "no parent", "no map"],
)
def test_a_json_patch_that_never_converges_is_an_error(operations: Any, said: str) -> None:
    """The error says why, and how to fix it."""
    with pytest.raises(OutputError, match=said) as caught:
        plan(Edit(REF, operations, "json"), stored({"list": [1]}), PARENT)
    assert "\n  fix: " in str(caught.value)


def test_only_the_server_knows_the_effect_of_a_strategic_patch() -> None:
    """Without lists and directives it is compared like a merge patch."""
    pod = ObjectRef(kinds.POD, "child", "default")
    current = stored({"a": [1], "b": {"c": 1}})

    assert plan(Edit(pod, {"spec": {"b": {"c": 1}}}, "strategic"), current, PARENT) is None
    for body in ({"spec": {"a": [1]}}, {"spec": {"b": {"$retainKeys": ["c"]}}}):
        request = plan(Edit(pod, body, "strategic"), current, PARENT)
        assert request is not None
        assert request.patch is Patch.STRATEGIC


def test_a_status_patch_carries_the_version() -> None:
    """The server ignores a uid in a write to the status."""
    output = Edit(REF, {"status": {"a": 1}}, subresource="status")
    request = plan(output, stored({}), PARENT)

    assert request is not None
    assert request.subresource == "status"
    assert request.body["metadata"] == {"resourceVersion": "7"}


@pytest.mark.law("G7")
def test_a_missing_object_is_waited_for_but_not_during_a_deletion() -> None:
    """W5: while the parent is being deleted, no object has to appear."""
    output = Edit(REF, {"spec": {}})

    with pytest.raises(MissingObjectError, match="does not exist"):
        plan(output, None, PARENT)
    assert plan(output, None, PARENT, creating=False) is None


def test_the_effect_of_a_patch_depends_on_the_content_alone() -> None:
    """A new version, generation or status does not cause another request."""
    edit, status = Edit(REF, {}), Edit(REF, {}, subresource="status")
    one = {**stored({"a": 1}, generation=1), "status": {"x": 1}}
    two = {**stored({"a": 1}, generation=2), "status": {"x": 2}}
    three = {**stored({"a": 2}, generation=1), "status": {"x": 1}}

    assert basis_of(edit, one) == basis_of(edit, two) != basis_of(edit, three)
    assert basis_of(status, one) == basis_of(status, three) != basis_of(status, two)


# ------------------------------------------------------------------------ declarations


def test_two_patches_of_one_object_become_one() -> None:
    """Merge patches are merged, with their nulls; JSON patches are concatenated."""
    out = outputs()
    out.patch(WIDGET, "child", {"spec": {"a": 1, "b": {"c": 1}}})
    out.patch(WIDGET, "child", {"spec": {"a": None, "b": {"d": 2}}})
    out.patch(WIDGET, "child", [{"op": "remove", "path": "/x"}], type="json")
    out.patch(WIDGET, "child", [{"op": "remove", "path": "/y"}], type="json")

    merged, listed = out
    assert isinstance(merged, Edit)
    assert isinstance(listed, Edit)
    assert merged.body == {"spec": {"a": None, "b": {"c": 1, "d": 2}}}
    assert [operation["path"] for operation in listed.body] == ["/x", "/y"]
    assert "edit Widget.example.com default/child" in repr(out)


def test_two_strategic_patches_of_one_object_are_an_error() -> None:
    """Only the server could tell what the two mean together."""
    out = outputs()
    out.patch(kinds.POD, "child", {"spec": {}}, type="strategic")
    with pytest.raises(OutputError, match="is patched twice"):
        out.patch(kinds.POD, "child", {"spec": {}}, type="strategic")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda out: out.patch(WIDGET, "a", {}, type="strategic"),
            "custom kinds have no strategic",
        ),
        (lambda out: out.patch(WIDGET, "a", {}, type="yaml"), "'yaml' is not a type of patch"),
        (lambda out: out.patch(WIDGET, "a", {}, type="json"), "a list of operations, not dict"),
        (lambda out: out.patch(WIDGET, "a", [1]), "a map, not list"),
        (lambda out: out.patch(WIDGET, "a", {"a": {1, 2}}), "cannot be written as JSON"),
        (lambda out: out.scale(WIDGET, "a", replicas=-1), "cannot be scaled to -1"),
        (lambda out: out.scale(WIDGET, "a", replicas=True), "cannot be scaled to True"),
        (lambda out: out.label_self({"a": 1}), "'a' is 1, which is not a string"),
        (lambda out: out.delete(WIDGET, "a", propagation="Later"), "propagation is 'Later'"),
        (
            lambda out: out.delete(WIDGET, "a", foreground=True, propagation="Orphan"),
            "both foreground=True and propagation='Orphan'",
        ),
        (lambda out: out.apply(manifest({}), subresource="status"), "but has no status"),
        (lambda out: OutputSet().label_self({"a": "b"}), "belongs to no object"),
        (lambda out: OutputSet().delete_self(), "this OutputSet belongs to no object"),
    ],
)
def test_mistakes_are_refused_where_they_are_written(call: Any, said: str) -> None:
    """The error names the object, the problem and the fix."""
    with pytest.raises(OutputError, match=said) as caught:
        call(outputs())
    assert "\n  fix: " in str(caught.value)


def test_labels_and_annotations_of_the_object_itself_are_one_patch() -> None:
    """A patch of any other field is not such a patch."""
    out = outputs()
    out.label_self({"a": "b"})
    out.label_self({})
    out.annotate_self({"c": None})
    (output,) = out

    assert isinstance(output, Edit)
    assert output.body == {"metadata": {"labels": {"a": "b"}, "annotations": {"c": None}}}
    assert is_own_edit(output)
    assert not is_own_edit(output._replace(subresource="status"))
    assert not is_own_edit(Edit(REF, {"spec": {}}))
    assert not is_own_edit(Edit(REF, {"metadata": {"finalizers": []}}))


def test_the_outputs_that_a_state_can_declare() -> None:
    """Each output is a value; declaring it sends nothing."""
    out = outputs()
    out.scale(kinds.DEPLOYMENT, "a", replicas=0)
    out.apply({**manifest({}), "status": {"phase": "Up"}}, subresource="status")
    out.delete_all(WIDGET, {"a": "b"}, propagation="Foreground")
    out.delete_all(kinds.NAMESPACE, "a,b!=c", "ignored", adopt=True)
    out.delete_all(WIDGET, namespace="")
    scale, status = out
    child, spaces, everywhere = out.collections

    assert scale == Edit(
        scale.ref, {"spec": {"replicas": 0}}, subresource="scale", author="Things."
    )
    assert status == Edit(
        REF, {"status": {"phase": "Up"}}, subresource="status", owned=True, author="Things."
    )
    assert (child.selector, child.namespace, child.propagation) == ("a=b", "default", "Foreground")
    assert (spaces.selector, spaces.namespace, spaces.adopt) == ("a,b!=c", "", True)
    assert (everywhere.selector, everywhere.namespace) == ("", "")
    assert len(out) == 2
    assert not out.applied()
    assert REF not in out


def test_a_status_that_the_state_built_cannot_be_applied_with_the_object() -> None:
    """The status of an object that was read is left out instead."""
    made = {**manifest({}), "status": {"phase": "Up"}}
    with pytest.raises(OutputError, match="which the API server would drop"):
        outputs().apply(made)
    out = outputs()
    out.apply({**made, "metadata": {**made["metadata"], "uid": "u"}})

    assert "status" not in out.applied()[0].manifest
