"""OutputSet: one intention per object (A1), of declared kinds (D3), with a name (A11)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import (
    GeneratedNameError,
    OutputError,
    SelfDeletionError,
    UndeclaredOutputError,
    UnidentifiedObjectError,
)
from myrmidon.sets import Apply, Delete, OutputSet
from tests.fsm.things import Thing
from tests.strategies import WIDGET, refs


def outputs(*declared: Any) -> OutputSet:
    """The outputs of a state that manages ConfigMaps, Secrets and Namespaces."""
    managed = declared or (kinds.CONFIG_MAP, kinds.SECRET, kinds.NAMESPACE, Thing.KIND)
    return OutputSet(managed, namespace="default", controller="Things", state="made")


def manifest(ref: ObjectRef, **fields: Any) -> Json:
    """The smallest manifest of a reference."""
    return {
        "apiVersion": ref.kind.api_version,
        "kind": ref.kind.kind,
        "metadata": {"name": ref.name, "namespace": ref.namespace},
        **fields,
    }


def applied(obj: Json) -> Apply:
    """Return the output of a state that applies one object."""
    out = outputs()
    out.apply(obj)
    (output,) = out.applied()
    return output


INTENTIONS = st.lists(
    st.tuples(
        refs(), st.sampled_from(["apply", "update", "delete", "delete by name", "delete object"])
    )
)


@given(intentions=INTENTIONS)
def test_a1_the_last_intention_wins_with_its_own_options(
    intentions: list[tuple[ObjectRef, str]],
) -> None:
    """It also takes the last place in the order."""
    out = outputs()
    for ref, what in intentions:
        if what == "delete":
            out.delete(ref)
        elif what == "delete by name":
            out.delete(ref.kind, ref.name, ref.namespace)
        elif what == "delete object":
            out.delete(manifest(ref))
        else:
            out.apply(manifest(ref), as_update=what == "update")

    last = {ref: what for ref, what in intentions}  # noqa: C416 - the last one wins
    order = list(dict.fromkeys(ref for ref, _ in reversed(intentions)))[::-1]
    assert [output.ref for output in out] == order
    assert len(out) == len(last)
    assert all(ref in out for ref in last)
    for output in out:
        what = last[output.ref]
        assert isinstance(output, Delete) == what.startswith("delete")
        if isinstance(output, Apply):
            assert output.options.as_update == (what == "update")
            assert output.author == "Things.made"
    assert [*out.applied(), *out.deleted()] == sorted(out, key=lambda o: isinstance(o, Delete))


def test_objects_go_to_the_namespace_of_the_parent() -> None:
    """A namespace in the manifest takes precedence; cluster-scoped objects never have one."""
    out = outputs()
    out.apply_all(
        [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b", "namespace": "x"}},
            Thing(name="c", namespace="other"),
        ],
        create_only=True,
    )
    out.delete(Thing, "d")

    assert repr(out) == (
        "OutputSet(apply ConfigMap default/a, apply Namespace b, "
        "apply Thing.example.com other/c, delete Thing.example.com default/d)"
    )
    config_map, namespace, thing = out.applied()
    assert config_map.manifest["metadata"] == {"name": "a", "namespace": "default"}
    assert namespace.manifest["metadata"] == {"name": "b"}
    assert thing.options.create_only


def test_without_a_list_of_kinds_the_well_known_ones_are_declared() -> None:
    """For use outside a controller."""
    out = OutputSet(state="alone")
    out.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}})

    assert [output.author for output in out.applied()] == ["alone"]


CONFIG_MAP: Json = {"apiVersion": "v1", "kind": "ConfigMap"}


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (
            lambda out: out.apply(
                {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}
            ),
            (
                "Things.made put a Deployment (apps/v1) into its outputs, which Things.manages does not list.\n"
                "  Without it the object is not watched and the generated role cannot write it.\n"
                "  fix: add it to Things.manages, then run `myrmidon generate rbac`"
            ),
        ),
        (
            lambda out: out.delete(kinds.DEPLOYMENT, "a"),
            (
                "Things.made put a Deployment (apps/v1) into its outputs, which Things.manages does not list.\n"
                "  Without it the object is not watched and the generated role cannot write it.\n"
                "  fix: add it to Things.manages, then run `myrmidon generate rbac`"
            ),
        ),
        (
            lambda out: out.apply({**CONFIG_MAP, "metadata": {"generateName": "a-"}}),
            (
                "ConfigMap a-* uses metadata.generateName; every pass would create another one.\n"
                "  fix: give it a name that follows from its parent, "
                "such as hashed_name(parent, data) for an immutable child"
            ),
        ),
        (
            lambda out: out.apply({"kind": "ConfigMap", "metadata": {"name": "a"}}),
            (
                "an object without apiVersion cannot be applied or deleted: ConfigMap a.\n"
                "  fix: set apiVersion on the object"
            ),
        ),
        (
            lambda out: out.apply({"apiVersion": "v1", "metadata": {"name": "a"}}),
            (
                "an object without kind cannot be applied or deleted: object a.\n"
                "  fix: set kind on the object"
            ),
        ),
        (
            lambda out: out.apply(CONFIG_MAP),
            (
                "an object without metadata.name cannot be applied or deleted: a ConfigMap.\n"
                "  fix: set metadata.name on the object"
            ),
        ),
        (
            lambda out: out.delete(kinds.CONFIG_MAP),
            (
                "an object without metadata.name cannot be applied or deleted: a ConfigMap.\n"
                "  fix: pass its name after the kind; out.delete_all(kind) is for all children of a kind"
            ),
        ),
    ],
    ids=["undeclared", "undeclared delete", "generated", "version", "kind", "name", "delete"],
)
def test_d3_a11_outputs_that_cannot_be_written_are_refused(act: Any, text: str) -> None:
    """The error names the controller, the state and the fix."""
    with pytest.raises(
        (UndeclaredOutputError, GeneratedNameError, UnidentifiedObjectError)
    ) as caught:
        act(outputs())

    assert str(caught.value) == text


def test_a_parent_without_a_namespace_has_none_to_give() -> None:
    """The child must name a namespace itself."""
    out = OutputSet((kinds.CONFIG_MAP,))

    with pytest.raises(
        UnidentifiedObjectError, match=r"ConfigMap a\.\n  fix: set metadata\.namespace"
    ):
        out.apply({**CONFIG_MAP, "metadata": {"name": "a"}})
    with pytest.raises(UndeclaredOutputError, match=r"the controller\.state put a Secret \(v1\)"):
        out.delete(kinds.SECRET, "a", "default")


@given(name=st.sampled_from(["a", "b"]), prefix=st.sampled_from(["a-", "x"]))
def test_a11_generate_name_is_allowed_beside_a_name(name: str, prefix: str) -> None:
    """The server ignores generateName if there is a name."""
    out = outputs()
    out.apply({**CONFIG_MAP, "metadata": {"name": name, "generateName": prefix}})

    assert [output.ref.name for output in out] == [name]


@pytest.mark.parametrize(
    ("obj", "told"),
    [
        (
            {"apiVersion": ["v1"], "kind": "ConfigMap"},
            "apiVersion of ConfigMap (no name) is ['v1']",
        ),
        ({"apiVersion": "v1", "kind": 7}, "kind of 7 (no name) is 7"),
        (
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": ["a"]},
            "metadata of ConfigMap (no name) is ['a'], which is not a dict.\n  fix: write a dict",
        ),
        (
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": 123}},
            "metadata.name of ConfigMap 123 is 123, which is not a string.\n  fix: write a string",
        ),
        (
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": 1}},
            "metadata.namespace of ConfigMap 1/a is 1, which is not a string",
        ),
    ],
    ids=["apiVersion", "kind", "metadata", "name", "namespace"],
)
def test_what_identifies_an_object_is_text(obj: Any, told: str) -> None:
    """YAML reads ``name: 123`` as a number, which the server refuses."""
    with pytest.raises(OutputError) as caught:
        OutputSet(namespace="default").apply(obj)
    assert str(caught.value).startswith(told)


def test_delete_all_needs_a_kind() -> None:
    """Text is not a kind; the error says what the state declares."""
    with pytest.raises(UndeclaredOutputError, match="ConfigMaps"):
        outputs().delete_all("ConfigMaps")  # type: ignore[arg-type]


def test_an_object_deletes_itself_with_a_call_of_its_own() -> None:
    """A delete by name of the kind that is reconciled names that call, in every form."""
    own = ObjectRef(WIDGET, "own", "default")
    out = OutputSet((kinds.POD,), namespace="default", controller="Things", own=own)
    for what in (own, WIDGET):
        with pytest.raises(SelfDeletionError, match=r"out\.delete_self\(\)"):
            out.delete(what, "other")
    with pytest.raises(UndeclaredOutputError):
        out.delete(kinds.SECRET, "a")
    with pytest.raises(UndeclaredOutputError):
        out.delete(WIDGET, "other", cluster="edge")
    with pytest.raises(UndeclaredOutputError):
        OutputSet((kinds.POD,), namespace="default").delete(WIDGET, "other")

    out.delete_self(propagation="Orphan")
    assert (out.self_deletion, list(out)) == ("Orphan", [])


_LEFT_OUT: list[Json] = [
    {"status": {"phase": "Running"}},
    {"metadata": {"generation": 2}},
    {"metadata": {"managedFields": []}},
    {"spec": {"weight": None, "half": 0.5}, "metadata": {"creationTimestamp": "now"}},
]


@pytest.mark.parametrize("more", _LEFT_OUT, ids=["status", "generation", "managers", "created"])
def test_a_text_that_holds_more_than_the_manifest_is_not_kept(more: Json) -> None:
    """Fields that only the server sets would make equal outputs look different."""
    meta = {"name": "a", "namespace": "default", "uid": "u", **more.get("metadata", {})}
    assert applied({"apiVersion": "v1", "kind": "ConfigMap", **more, "metadata": meta}).text == b""


@given(
    values=st.lists(st.dictionaries(st.text(), st.none() | st.booleans() | st.text()), max_size=3)
)
def test_outputs_have_equal_texts_only_if_their_manifests_are_equal(values: list[Json]) -> None:
    """A decision about an output is repeated by comparing its text alone."""
    ref = ObjectRef(kinds.CONFIG_MAP, "a", "default")
    made = [applied(manifest(ref, data=value)) for value in values]
    for one in made:
        for other in made:
            assert one.text != other.text or one.manifest == other.manifest


@pytest.mark.parametrize(
    ("act", "fix"),
    [
        (lambda out: out.apply_all({"kind": "ConfigMap"}), "write out.apply(...)"),
        (lambda out: out.apply([{"kind": "ConfigMap"}]), "pass its objects to out.apply_all(...)"),
    ],
    ids=["one object for apply_all", "a list for apply"],
)
def test_d3_one_object_and_several_are_told_apart(act: Any, fix: str) -> None:
    """The error says which method takes what was given."""
    with pytest.raises(OutputError) as caught:
        act(outputs())

    assert f"\n  fix: {fix}" in str(caught.value)
