"""From what a user hands over to the manifest that is sent."""

from base64 import b64decode
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes_asyncio.client import (
    V1ConfigMap,
    V1ObjectMeta,
    V1OwnerReference,
    V1Secret,
)

from myrmidon.api.objects import Json
from myrmidon.errors import OutputError
from myrmidon.sets.manifests import manifest_of
from tests.fsm.things import Thing, ThingSpec
from tests.strategies import documents


@given(spec=documents())
def test_a_manifest_is_a_copy(spec: Json) -> None:
    """Later changes to the original do not reach the output; explicit None stays."""
    original = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "a"}, "spec": spec}
    manifest = manifest_of(original)

    assert manifest == original
    assert manifest["spec"] is not spec
    assert manifest["metadata"] is not original["metadata"]


def test_what_only_the_server_may_say_is_dropped() -> None:
    """An object that was read can be applied again; its lock and uid stay for those who ask."""
    manifest = manifest_of(
        {
            "metadata": {
                "name": "a", "uid": "u", "resourceVersion": "1", "generation": 1,
                "managedFields": [], "creationTimestamp": "x", "deletionTimestamp": "x",
                "deletionGracePeriodSeconds": 0, "selfLink": "x",
            },
            "status": {"x": 1},
        }
    )  # fmt: skip

    assert manifest == {"metadata": {"name": "a", "uid": "u", "resourceVersion": "1"}}
    assert manifest_of({"metadata": None}) == {"metadata": None}


@given(texts=st.dictionaries(st.sampled_from("abc"), st.text(max_size=5) | st.none(), max_size=3))
def test_a5_string_data_is_compared_as_data(texts: dict[str, str | None]) -> None:
    """The server never sends stringData back."""
    secret = {"kind": "Secret", "data": {"a": "b2xk", "z": "eg=="}, "stringData": texts}
    data = manifest_of(secret)["data"]

    assert data["z"] == "eg=="
    assert "stringData" not in manifest_of(secret)
    for key, text in texts.items():
        assert (data[key] and b64decode(data[key]).decode()) == (text or data[key])
    assert manifest_of({"kind": "Secret", "stringData": None}) == {"kind": "Secret", "data": {}}
    assert "stringData" in manifest_of({"kind": "ConfigMap", "stringData": {}})


def test_typed_resources_send_what_was_set() -> None:
    """Unset is not sent, None is sent as null, and the status is nobody's output."""
    thing = Thing(name="a", spec=ThingSpec(size=1, note=None))

    assert manifest_of(thing) == {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "a"},
        "spec": {"size": 1, "note": None},
    }


def test_client_models_are_manifests() -> None:
    """kubernetes-asyncio's models: what is None was never set."""
    owner = V1OwnerReference(api_version="v1", kind="X", name="x", uid="u")
    meta = V1ObjectMeta(
        name="a",
        labels={"app": "web"},
        owner_references=[owner],
        creation_timestamp=datetime(2026, 1, 1, tzinfo=UTC),
    )
    model = V1ConfigMap(api_version="v1", kind="ConfigMap", metadata=meta, data={"a": "b"})
    secret = V1Secret(kind="Secret", string_data={"k": "v"})

    assert manifest_of(model) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "a",
            "labels": {"app": "web"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u"}],
        },
        "data": {"a": "b"},
    }
    assert manifest_of(secret) == {"kind": "Secret", "data": {"k": "dg=="}}


class Model:
    """As far as we care, a model of the client."""

    attribute_map = {"when": "when", "day": "day", "many": "many"}  # noqa: RUF012 - as the client has it

    when = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
    day = date(2026, 1, 2)
    many = (1, {"a": [2]})


def test_times_in_models_are_written_as_kubernetes_writes_them() -> None:
    """Whole seconds, UTC."""
    assert manifest_of(Model()) == {
        "when": "2026-01-02T03:04:05Z",
        "day": "2026-01-02",
        "many": [1, {"a": [2]}],
    }


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        (
            7,
            (
                "7 is no object that can be applied.\n"
                "  fix: pass a manifest (dict), a Resource, or a kubernetes-asyncio model"
            ),
        ),
        (
            {"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {1: 2}},
            (
                "ConfigMap a cannot be written as JSON: Dict key must be str.\n"
                "  fix: use strings, numbers, booleans, None, lists and dicts with string keys"
            ),
        ),
        (
            {"kind": "ConfigMap", "data": object},
            (
                "ConfigMap (no name) cannot be written as JSON: Type is not JSON serializable: type.\n"
                "  fix: use strings, numbers, booleans, None, lists and dicts with string keys"
            ),
        ),
    ],
    ids=["no object", "key", "value"],
)
def test_what_is_no_object_is_refused(obj: Any, text: str) -> None:
    """With what it is and what it should be."""
    with pytest.raises(OutputError) as caught:
        manifest_of(obj)

    assert str(caught.value) == text
