"""Resource: its definition, reading and building."""

from copy import deepcopy
from datetime import UTC, datetime
from operator import setitem
from typing import Any

import orjson
import pytest
from pydantic import BaseModel, Field

from myrmidon.api import Column, Kind, Model, ObjectRef, Resource, Status
from myrmidon.api.typed.definitions import plural_of
from myrmidon.errors import DefinitionError, OutputError, UnfitObjectError
from tests.api.apps import App, AppSpec, AppStatus, Port, manifest


def test_the_class_statement_is_the_definition() -> None:
    """Nothing has to run."""

    class Policy(
        Resource[AppSpec, Status],
        group="demo.myrmidon.dev",
        version="v1beta1",
        namespaced=False,
        short_names=["po"],
        columns={"Image": ".spec.image", "Wide": Column(".spec.replicas", priority=1)},
    ):
        """What is allowed."""

    assert (
        Kind("demo.myrmidon.dev", "v1beta1", "Policy", "policies", namespaced=False) == Policy.KIND
    )
    assert Policy.DEFINITION.columns["Image"] == Column(".spec.image")
    assert Policy.DEFINITION.description == "What is allowed."
    assert (AppSpec, Status) == (Policy.SPEC, Policy.STATUS)


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("WebApp", "webapps"),
        ("Ingress", "ingresses"),
        ("NetworkPolicy", "networkpolicies"),
        ("Gateway", "gateways"),
        ("Box", "boxes"),
        ("Batch", "batches"),
    ],
)
def test_plurals(kind: str, plural: str) -> None:
    """As Kubernetes forms them."""
    assert plural_of(kind) == plural


MISTAKES: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no group": (
        Resource[AppSpec, Status], {"version": "v1"},
        ("Bad is a Resource without group.\n"
        '  fix: write class Bad(Resource[Spec, Status], group="demo.example.com", version="v1")'),
    ),
    "nothing": (
        Resource[AppSpec, Status], {},
        ("Bad is a Resource without group and version.\n"
        '  fix: write class Bad(Resource[Spec, Status], group="demo.example.com", version="v1")'),
    ),
    "version": (
        Resource[AppSpec, Status], {"group": "a.b", "version": "1"},
        "Bad has version='1', which Kubernetes does not accept.\n  fix: use \"v1\", \"v1beta1\" or \"v1alpha1\"",
    ),
    "group": (
        Resource[AppSpec, Status], {"group": "Demo", "version": "v1"},
        ("Bad has group='Demo', which Kubernetes does not accept.\n"
        '  fix: use a domain of yours in lower case, "demo.example.com"'),
    ),
    "reserved group": (
        Resource[AppSpec, Status], {"group": "apps.k8s.io", "version": "v1"},
        ("Bad has group='apps.k8s.io', which is reserved for the Kubernetes community.\n"
        '  fix: use a domain of yours, "demo.example.com"; '
        "for a kind that exists already write of=kinds.INGRESS instead"),
    ),
    "short names": (
        Resource[AppSpec, Status], {"group": "a.b", "version": "v1", "short_names": "wa"},
        "Bad has short_names='wa', which is not a list.\n  fix: write short_names=['wa']",
    ),
    "column": (
        Resource[AppSpec, Status], {"group": "a.b", "version": "v1", "columns": {"X": "spec.image"}},
        ("Bad has columns['X']='spec.image', which Kubernetes does not accept.\n"
        '  fix: use a path from the root, ".spec.image"'),
    ),
    "untyped": (
        Resource, {"group": "a.b", "version": "v1"},
        "Bad does not say what its spec and status are.\n  fix: write class Bad(Resource[BadSpec, Status], ...)",
    ),
    "version twice": (
        Resource[AppSpec, Status], {"group": "demo.myrmidon.dev", "version": "v1", "kind": "App", "versions": [App]},
        "Bad and App are both version 'v1' of App.demo.myrmidon.dev.\n  fix: give each version its own name",
    ),
    "another kind": (
        Resource[AppSpec, Status], {"group": "demo.myrmidon.dev", "version": "v2", "versions": [App]},
        ("Bad lists App in versions, but they differ in group, kind, plural or scope: "
        "bads.demo.myrmidon.dev and apps.demo.myrmidon.dev.\n"
        "  fix: give App kind='Bad', group='demo.myrmidon.dev', plural='bads', namespaced=True"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_in_the_definition_is_an_error_with_a_fix(case: str) -> None:
    """The error is raised at import."""
    base, keywords, message = MISTAKES[case]
    with pytest.raises(DefinitionError) as error:

        class Bad(base, **keywords):  # type: ignore[misc,valid-type]
            pass

    assert str(error.value) == message


def test_spec_and_status_must_be_models_of_ours() -> None:
    """Other classes would not keep unknown fields, nor know which fields were set."""

    class Foreign(BaseModel):
        image: str

    class Needy(Status):
        url: str

    with pytest.raises(DefinitionError) as error:

        class One(Resource[Foreign, Status], group="a.b", version="v1"):  # type: ignore[type-var]
            pass

    assert str(error.value) == (
        "the spec of One is Foreign, which is not a Model.\n  fix: write class Foreign(Model) with one field per line"
    )
    with pytest.raises(DefinitionError) as error:

        class Two(Resource[AppSpec, AppSpec], group="a.b", version="v1"):  # type: ignore[type-var]
            pass

    assert str(error.value) == (
        "the status of Two is AppSpec, which is not a Status.\n"
        "  fix: write class AppSpec(Status), or give plain Status where there is nothing to add"
    )
    with pytest.raises(DefinitionError) as error:

        class Three(Resource[AppSpec, Needy], group="a.b", version="v1"):
            pass

    assert str(error.value) == (
        "Needy.url has no default, but a new Three has no status yet.\n  fix: write url: ... | None = None"
    )


def test_reads_metadata_as_attributes() -> None:
    """They are typed, and empty if they are missing."""
    app = App.from_json(
        manifest(
            metadata={
                "name": "a",
                "namespace": "n",
                "uid": "u",
                "resourceVersion": "7",
                "generation": 2,
                "labels": {"x": "y"},
                "finalizers": ["f"],
                "ownerReferences": [{"uid": "o"}],
                "creationTimestamp": "2030-01-31T12:00:00Z",
                "deletionTimestamp": "2030-02-01T12:00:00Z",
            }
        )
    )

    assert (app.name, app.namespace, app.uid, app.resource_version, app.generation) == (
        "a",
        "n",
        "u",
        "7",
        2,
    )
    assert (app.labels, app.annotations, app.finalizers, app.owner_references) == (
        {"x": "y"},
        {},
        ["f"],
        [{"uid": "o"}],
    )
    assert app.creation_timestamp == datetime(2030, 1, 31, 12, tzinfo=UTC)
    assert app.deletion_timestamp == datetime(2030, 2, 1, 12, tzinfo=UTC)
    assert app.is_deleting
    assert app.ref == ObjectRef(App.KIND, "a", "n")
    assert app.metadata["name"] == "a"
    assert not App.from_json(manifest()).is_deleting
    assert App.from_json(manifest()).creation_timestamp is None


READ_ONLY = "obj.{} is read only; what a state may change is obj.status"


def test_an_object_that_was_read_is_read_only() -> None:
    """A change that would never be written fails where it is made, also in place and at depth."""
    app = App.from_json(
        manifest(spec={"image": "i", "hosts": ["h"], "ports": [{"portName": "p"}], "byName": {}})
    )
    changes: list[tuple[str, Any]] = [
        ("spec", lambda: setattr(app, "spec", AppSpec(image="j"))),
        ("spec", lambda: setattr(app.spec, "replicas", 3)),
        ("spec", lambda: app.spec.hosts.append("x")),
        ("spec", lambda: setitem(app.spec.hosts, 0, "x")),
        ("spec", lambda: setattr(app.spec.ports[0], "number", 1)),
        ("spec", lambda: app.spec.by_name.update(a=Port(port_name="p"))),
        ("name", lambda: setattr(app, "name", "b")),
        ("labels", lambda: setitem(app.labels, "a", "b")),  # type: ignore[call-overload]
        ("metadata", lambda: setitem(app.metadata, "a", "b")),  # type: ignore[call-overload]
    ]
    for part, change in changes:
        with pytest.raises((AttributeError, TypeError)) as error:
            change()
        assert str(error.value).partition(".\n  fix: ")[0] == READ_ONLY.format(part)


def test_read_only_lists_and_maps_work_like_lists_and_maps() -> None:
    """They are put into manifests, compared and copied."""
    app = App.from_json(
        manifest(spec={"image": "i", "hosts": ["h"], "byName": {"a": {"portName": "p"}}})
    )

    assert (
        orjson.dumps({"hosts": app.spec.hosts, "labels": app.labels})
        == b'{"hosts":["h"],"labels":{}}'
    )
    copied = deepcopy({"hosts": app.spec.hosts})
    copied["hosts"].append("x")
    assert copied == {"hosts": ["h", "x"]}
    assert type(app.spec.hosts.copy()) is list
    assert AppSpec(image="i", hosts=app.spec.hosts).to_wire() == {"image": "i", "hosts": ["h"]}
    changed = app.spec.model_copy(update={"replicas": 3})
    changed.image = "j"  # a copy does not change the original
    assert changed.to_wire()["replicas"] == 3


def test_an_object_that_does_not_fit_names_its_fields() -> None:
    """In the spelling of the manifest, all in one error."""
    with pytest.raises(UnfitObjectError) as error:
        App.from_json(
            manifest(
                spec={"replicas": 70, "hosts": ["a", 1], "ports": [{"number": "2"}], "port": 1.5},
                status={"mainPort": {"number": 1}, "seenAt": "yesterday"},
            )
        )

    assert error.value.ref == "App.demo.myrmidon.dev n/a"
    assert error.value.problems == (
        "spec.image: Field required",
        "spec.replicas: Input should be less than or equal to 50",
        "spec.hosts[1]: Input should be a valid string",
        "spec.ports[0].portName: Field required",
        "spec.ports[0].number: Input should be a valid integer",
        "spec.port: Input should be a valid integer or Input should be a valid string",
        "status.mainPort.portName: Field required",
        "status.seenAt: Input should be a date-time such as 2030-01-31T12:00:00Z",
    )


@pytest.mark.parametrize("parts", [{"spec": []}, {"spec": "x"}, {"status": 3}])
def test_parts_that_are_not_objects_do_not_fit(parts: dict[str, Any]) -> None:
    """Any object of a server without a schema gives the same type of error."""
    with pytest.raises(UnfitObjectError, match="should be an object"):
        App.from_json(manifest(**parts))


@pytest.mark.parametrize("levels", [199, 300, 800])
def test_a_part_that_is_too_deep_does_not_fit(levels: int) -> None:
    """A server accepts 10,000 levels in a free-form field; a model accepts 200."""
    deep: Any = 1
    for _ in range(levels):
        deep = {"a": deep}
    obj = manifest(spec={"image": "i", "new": deep})
    if levels < 200:
        assert App.from_json(obj).spec.image == "i"
        return
    with pytest.raises(UnfitObjectError, match="spec: it is nested deeper than the 200 levels"):
        App.from_json(obj)


def test_an_object_that_was_read_is_printed_as_it_was_read() -> None:
    """With the fields that the model does not know."""
    read = manifest(
        spec={"image": "i", "new": {"a": 1}, "ports": [{"portName": "p", "new": [1]}]},
        status={"conditions": [{"type": "Ready", "status": "True", "extra": 1}], "new": 5},
        other="x",
    )
    app = App.from_json(deepcopy(read))

    assert app.raw == read
    assert app.to_json() == read
    assert App.from_json(manifest()).to_json() == manifest()


def test_a_built_object_has_exactly_the_given_fields() -> None:
    """A4."""
    app = App(name="x", namespace="y", labels={"a": "b"}, spec=AppSpec(image="i", memory=None))

    assert app.to_json() == {
        "apiVersion": "demo.myrmidon.dev/v1",
        "kind": "App",
        "metadata": {"name": "x", "namespace": "y", "labels": {"a": "b"}},
        "spec": {"image": "i", "memory": None},
    }
    assert App(name="x").to_json() == {
        "apiVersion": "demo.myrmidon.dev/v1",
        "kind": "App",
        "metadata": {"name": "x"},
    }
    assert app.raw == {}
    assert repr(app) == "App(y/x)"


def test_a_built_object_may_be_changed() -> None:
    """Until it is applied it belongs to the state."""
    app = App(name="x", spec=AppSpec(image="i"))
    app.spec.replicas = 4
    app.labels = {"a": "b"}
    app.status = AppStatus(url="u")

    made = app.to_json()
    assert (made["spec"], made["status"]) == ({"image": "i", "replicas": 4}, {"url": "u"})
    assert made["metadata"] == {"name": "x", "labels": {"a": "b"}}
    with pytest.raises(AttributeError, match="has no attribute 'lables' that can be set"):
        app.lables = {}  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r"App.spec must be a AppSpec, not Port"):
        app.spec = Port(port_name="p")  # type: ignore[assignment]


def test_a_copy_may_be_changed_and_carries_its_version() -> None:
    """For writes under an optimistic lock."""
    app = App.from_json(
        manifest(spec={"image": "i", "new": 1, "hosts": ["h"]}, status={"url": "u"})
    )
    copied = app.copy()
    copied.spec.hosts.append("x")

    made = copied.to_json()
    assert made["spec"] == {"image": "i", "new": 1, "hosts": ["h", "x"]}
    assert made["metadata"]["resourceVersion"] == "7"
    assert "status" not in made
    assert app.spec.hosts == ["h"]


def test_generic_bases_are_not_resources() -> None:
    """Several resources may share a base."""

    class Same(Model):
        a: int = 1

    class Family(Resource[Same, Status], group="a.b", version="v1", kind="Family"):
        pass

    class Cousin(Family, group="a.b", version="v1"):
        pass

    assert Cousin.SPEC is Same
    assert Cousin.KIND.kind == "Cousin"


class Part(Model):
    """A part of a spec, in each place that a field can have."""

    port_number: int = 1


class PartedSpec(Model):
    """Models in fields, lists and maps."""

    one: Part | None = None
    many: list[Part] = Field(default_factory=list)
    by_name: dict[str, Part] = Field(default_factory=dict)


class Parted(Resource[PartedSpec, Status], group="demo.myrmidon.dev", version="v1"):
    """A resource with models inside its spec."""


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"on": {}}, "spec.on is not a field of PartedSpec; did you mean 'one'?"),
        ({"zzz": 1}, "spec.zzz is not a field of PartedSpec; it has 'one', 'many', 'byName'"),
        ({"one": {"zzz": 1}}, "spec.one.zzz is not a field of Part; it has 'portNumber'"),
        (
            {"many": [{}, {"port_number": 1}]},
            "spec.many[1].port_number is not a field of Part; did you mean 'portNumber'?",
        ),
        (
            {"byName": {"a": {"x": 1}}},
            "spec.byName.a.x is not a field of Part; it has 'portNumber'",
        ),
        ({"one": {"portNumber": "x"}}, "spec.one.portNumber: Input should be a valid integer"),
    ],
)
def test_a_spec_given_as_json_is_checked_as_the_model_is(spec: Any, problem: str) -> None:
    """A typo must not become an unknown field that the server drops."""
    with pytest.raises(OutputError) as error:
        Parted(name="a", spec=spec)
    assert str(error.value) == (
        f"Parted cannot be built: {problem}\n"
        "  fix: write the fields of PartedSpec, with names in camelCase, or pass spec=PartedSpec(...)"
    )


def test_a_spec_given_as_json() -> None:
    """With everything in its place."""
    spec = {"one": {"portNumber": 1}, "many": [{"portNumber": 2}], "byName": {"a": {}}}
    assert Parted(name="a", spec=spec).to_json()["spec"] == spec


def test_a_resource_with_one_type_says_that_it_needs_two() -> None:
    """The plain Status is enough where there is nothing to add."""
    with pytest.raises(DefinitionError) as error:
        Resource[AppSpec]  # type: ignore[misc]
    assert str(error.value) == (
        "Resource[AppSpec] names one class, but a resource has a spec and a status.\n"
        "  fix: write Resource[AppSpec, Status]; derive from Status to add fields to it"
    )
