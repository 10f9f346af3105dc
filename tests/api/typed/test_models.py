"""Models of kubernetes-asyncio as kinds and as objects; Unstructured objects."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from kubernetes_asyncio import client

from myrmidon.api import Kind, Model, Resource, Status, Unstructured
from myrmidon.api.objects import kinds
from myrmidon.api.typed.models import is_model, model_from_json, model_json, model_kind
from myrmidon.api.typed.object_types import is_defined_here, kind_of, raw_of, reader_of
from myrmidon.apiserver.catalog.resources import builtin_resources
from myrmidon.errors import DefinitionError, UnfitObjectError

STORED = [one.kind for one in builtin_resources() if {"list", "create"} <= set(one.verbs)]


def test_the_constants_are_the_kinds_that_a_server_stores() -> None:
    """The embedded server's list was recorded from a real one."""
    assert set(kinds.ALL) == set(STORED)


@pytest.mark.parametrize("kind", STORED, ids=lambda kind: f"{kind.kind}.{kind.api_version}")
def test_every_stored_kind_has_its_model(kind: Kind) -> None:
    """For every name that the library uses."""
    found = [
        name
        for name, value in vars(client).items()
        if is_model(value) and model_kind(value) == kind and kind_of(value) == kind
    ]
    assert len(found) == 1, found


def test_parts_of_objects_and_other_classes_are_not_kinds() -> None:
    """Neither are models of beta versions, and lists of objects."""
    others = (client.V1Container, client.V1beta1DeviceClass, client.V1PodList, int, Model, "Pod")
    assert [kind_of(one) for one in others] == [None] * len(others)


def test_a_model_survives_a_json_round_trip() -> None:
    """With the deserializer of the library; times are printed as the server prints them."""
    obj = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "a",
            "creationTimestamp": "2030-01-31T12:00:00Z",
            "labels": {"a": "b"},
        },
        "spec": {"containers": [{"name": "main", "image": "shop:1"}]},
    }
    pod = reader_of(client.V1Pod)(obj)
    assert isinstance(pod, client.V1Pod)
    assert pod.metadata.creation_timestamp == datetime(2030, 1, 31, 12, tzinfo=UTC)
    assert raw_of(pod) == obj
    assert raw_of({"kind": "Pod"}) == {"kind": "Pod"}


def test_a_model_is_completed_from_its_class() -> None:
    """Its own fields take precedence; the model of a part is not completed."""
    assert model_json(client.V1Deployment()) == {"apiVersion": "apps/v1", "kind": "Deployment"}
    assert model_json(client.V1Deployment(kind="Other"))["kind"] == "Other"
    assert model_json(client.V1Container(name="a")) == {"name": "a"}
    odd: Any = client.V1ConfigMap(data={"day": date(2030, 1, 31), "all": ({"a": 1},)})
    assert model_json(odd)["data"] == {"day": "2030-01-31", "all": [{"a": 1}]}


def test_an_object_that_the_model_refuses_is_named() -> None:
    """The framework then leaves the object alone."""
    obj = {"kind": "Ingress", "metadata": {"name": "a"}, "spec": {"rules": [{"http": {}}]}}
    with pytest.raises(UnfitObjectError, match=r"Ingress a.*V1Ingress"):
        model_from_json(client.V1Ingress, obj)


# ----------------------------------------------------------------------------- Unstructured


class Space(Unstructured, kind=kinds.NAMESPACE):
    """A namespace."""


def test_an_unstructured_object_is_json_with_metadata() -> None:
    """Its fields are read only; a copy can be changed."""
    space = Space.from_json({"metadata": {"name": "a", "labels": {"b": "c"}}, "spec": {"x": [1]}})
    assert (space.name, space.labels, str(space.ref)) == ("a", {"b": "c"}, "Namespace a")
    assert space["spec"] == {"x": [1]} == space.get("spec")
    assert (space.get("data"), space.get("data", 1), "spec" in space) == (None, 1, True)
    assert list(space) == ["metadata", "spec"]
    assert space.to_json()["apiVersion"] == "v1"
    assert repr(space) == "Namespace(a)"
    assert space == Space.from_json(space.raw) != 1
    with pytest.raises(TypeError):
        space["spec"]["x"].append(2)
    with pytest.raises(AttributeError):
        space.labels = {}
    assert repr(Space.from_json({"metadata": {"name": "a", "namespace": "b"}})) == "Namespace(b/a)"


def test_an_unstructured_class_needs_a_kind() -> None:
    """Otherwise its objects could not be found."""
    with pytest.raises(DefinitionError, match="does not say of which kind"):

        class Bad(Unstructured):
            """Of no kind."""


# -------------------------------------------------------------- Resource classes with ``of``


def test_a_resource_class_for_a_kind_that_exists() -> None:
    """We do not define its CRD."""

    class Ingress(Resource[Model, Status], of=kinds.INGRESS):
        """An Ingress."""

    assert kinds.INGRESS == Ingress.KIND
    assert not is_defined_here(Ingress)
    assert not is_defined_here(kinds.INGRESS)


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"of": "Ingress"}, "Bad has of='Ingress', which is not a Kind"),
        ({"of": kinds.INGRESS, "group": "a.b"}, "both of=Ingress.networking.k8s.io and group"),
    ],
)
def test_a_kind_that_exists_is_named_by_a_kind_alone(keywords: dict[str, Any], said: str) -> None:
    """The other options belong to its definition."""
    with pytest.raises(DefinitionError, match=said):

        class Bad(Resource[Model, Status], **keywords):
            """Wrong."""
