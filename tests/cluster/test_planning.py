"""The laws of applying on a real server: what is planned, sent and read again.

`python -m tests.cluster.test_planning DIR` records how the server stores the samples, for the same
tests without a server (tests/sets/test_recorded.py).
"""

import json
import sys
from pathlib import Path
from typing import cast

import pytest

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.kinds import CUSTOM_RESOURCE_DEFINITION as CRD
from myrmidon.api.objects.kinds import DEPLOYMENT
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.request import Request, Verb
from myrmidon.errors import InvalidError, api_error
from myrmidon.patch import merge
from myrmidon.sets import Apply, OutputSet, plan, plan_recreate
from tests.cluster.controlplane.binaries import find
from tests.cluster.controlplane.client import Client, Response
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.controlplane.processes import wait_until
from tests.sets.samples import OPTIONS, PARENT, RECORDED, REFUSED, outputs


def send(client: Client, request: Request) -> Response:
    """Send a request as it was planned."""
    http = request.to_http()
    query = "&".join(f"{key}={value}" for key, value in http.query)
    path = f"{http.path}?{query}" if query else http.path
    kind = http.headers.get("content-type", "application/json")
    return client.request(http.method, path, request.body, content_type=kind)


def read(client: Client, ref: ObjectRef) -> Json:
    """Read the object as it is."""
    return cast("Json", send(client, Request(Verb.GET, ref)).body)


def applied(client: Client, output: Apply) -> Json:
    """Create the object and read it again."""
    request = plan(output, None, PARENT)
    assert request is not None
    answer = send(client, request)
    assert answer.status == 201, answer.body
    return read(client, output.ref)


@pytest.mark.parametrize("options", OPTIONS)
def test_a3_a_restart_on_converged_objects_costs_no_write(
    controlplane: ControlPlane, namespace: str, options: str
) -> None:
    """Fields that the server adds to an object of any kind do not cause another write."""
    client = controlplane.client()
    for output in outputs(namespace, **OPTIONS[options]):
        current = applied(client, output)

        request = plan(output, current, PARENT)

        assert request is None, f"{output.ref} is written again, although it is\n{current}"


def test_recreate_is_decided_by_causes_and_a_trial(
    controlplane: ControlPlane, namespace: str
) -> None:
    """Each kind's immutable field is a cause on the output, and valid as a new object."""
    client = controlplane.client()
    for output in outputs(namespace, recreate=True):
        change = REFUSED.get(output.ref.kind.kind)
        if change is None or output.ref.name in ("balanced", "outside"):  # Services of other types
            continue
        current = applied(client, output)
        answer = send(client, Request(Verb.PATCH, output.ref, change))

        refusal = api_error(answer.status, answer.body)
        assert isinstance(refusal, InvalidError), answer.body
        changed = output._replace(manifest=merge(output.manifest, change))
        recreation = plan_recreate(changed, current, PARENT, refusal)
        assert recreation is not None, refusal
        tried = send(client, recreation.trial)
        assert (tried.status, tried.body["reason"]) == (409, "AlreadyExists"), (
            output.ref,
            tried.body["message"],
        )


def test_a_trial_of_an_invalid_object_is_refused_before_its_name(
    controlplane: ControlPlane, namespace: str
) -> None:
    """The server validates a new object before it checks whether the name is taken."""
    client = controlplane.client()
    (output,) = [one for one in outputs(namespace, recreate=True) if one.ref.kind == DEPLOYMENT]
    current = applied(client, output)
    wrong = output._replace(manifest=merge(output.manifest, {"spec": {"replicas": -1}}))
    answer = send(client, Request(Verb.PATCH, output.ref, {"spec": {"replicas": -1}}))
    refusal = api_error(answer.status, answer.body)
    assert isinstance(refusal, InvalidError)
    recreation = plan_recreate(wrong, current, PARENT, refusal)
    assert recreation is not None
    assert send(client, recreation.trial).status == 422


def test_o6_an_apply_that_should_create_does_not_hit_an_existing_object(
    controlplane: ControlPlane, namespace: str
) -> None:
    """Its version is ignored for a new object, and a conflict for an existing one."""
    client = controlplane.client()
    for output in outputs(namespace, server_side=True)[:3]:
        request = plan(output, None, PARENT)
        assert request is not None
        assert send(client, request).status == 201
        assert send(client, request).status == 409


@pytest.mark.parametrize("way", ["merge", "server_side"])
def test_o4_a_change_does_nothing_to_a_namesake(
    controlplane: ControlPlane, namespace: str, way: str
) -> None:
    """A request with the uid of a deleted object is refused; with the right one it is accepted."""
    client = controlplane.client()
    options = {"server_side": True, "force": True} if way == "server_side" else {}
    (output,) = [one for one in outputs(namespace, **options) if one.ref.kind == DEPLOYMENT]
    current = applied(client, output)
    changed = output._replace(manifest=merge(output.manifest, {"spec": {"replicas": 7}}))
    request = plan(changed, current, PARENT)
    assert request is not None
    assert request.body["metadata"]["uid"] == current["metadata"]["uid"]
    wrong = merge(request.body, {"metadata": {"uid": "11111111-1111-1111-1111-111111111111"}})
    refused = send(client, request._replace(body=wrong))
    assert refused.status in (409, 422), refused.body
    if refused.status == 422:
        assert "metadata.uid" in {cause["field"] for cause in refused.body["details"]["causes"]}
    assert send(client, request).status == 200
    assert read(client, output.ref)["spec"]["replicas"] == 7


SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {
                "size": {"type": "integer", "default": 1},
                "ports": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "port": {"type": "integer"},
                            "protocol": {"type": "string", "default": "TCP"},
                        },
                    },
                },
            },
        }
    },
}


@pytest.mark.parametrize("options", OPTIONS)
def test_a2_a_custom_kind_with_defaults_converges(
    controlplane: ControlPlane, namespace: str, options: str
) -> None:
    """We do not know its defaults.

    An update removes a field of another writer, and nothing else.
    """
    client = controlplane.client()
    kind = Kind(f"{namespace}.example.com", "v1", "Gadget", "gadgets")
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gadgets.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {"kind": "Gadget", "plural": "gadgets"},
            "versions": [version],
        },
    }
    assert client.post(f"{CRD.root}/{CRD.plural}", definition).status == 201
    collection = f"{kind.root}/namespaces/{namespace}/gadgets"
    wait_until(lambda: client.status(collection) == 200, "gadgets are served", 30)
    out = OutputSet((kind,), namespace=namespace, controller="Samples", state="applied")
    spec: Json = {"ports": [{"port": 80}], "labels": {}, "gone": None}
    gadget = {
        "apiVersion": kind.api_version,
        "kind": "Gadget",
        "metadata": {"name": "a", "labels": {}, "annotations": {"x": None}},
        "spec": spec,
    }
    out.apply(gadget, owner_refs=False, **OPTIONS[options])
    (output,) = out.applied()

    current = applied(client, output)
    assert current["spec"]["size"] == 1
    assert plan(output, current, PARENT) is None

    send(client, Request(Verb.PATCH, output.ref, {"spec": {"theirs": 1}}))
    request = plan(output, read(client, output.ref), PARENT)
    assert (request is not None) == (options == "update")
    if request is not None:
        assert send(client, request).status == 200
    current = read(client, output.ref)
    assert ("theirs" in current["spec"]) == (options != "update")
    assert plan(output, current, PARENT) is None


def record(directory: Path) -> None:
    """Record how the server stores the samples."""
    with ControlPlane(find(), folder=directory) as plane:
        client = plane.client()
        answers = [applied(client, output) for output in outputs("default")]
        for answer in answers:
            answer["metadata"].pop("managedFields", None)
    RECORDED.write_text(json.dumps(answers, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    record(Path(sys.argv[1]))
