"""The records for our schema tests still hold for the real server."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Any
from uuid import uuid4

import pytest

from tests.apiserver.schema.records import Json, Sent, definitions, sent
from tests.cluster.controlplane.client import Client, Response
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.controlplane.processes import wait_until

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def causes(answer: Response) -> list[list[str]]:
    """Return the causes of a failure in the order of the records."""
    found = (answer.body.get("details") or {}).get("causes") or []
    return sorted([cause["field"], cause["reason"], cause["message"]] for cause in found)


def test_definitions(controlplane: ControlPlane) -> None:
    """Each recorded definition is refused for the same causes, or accepted."""
    client = controlplane.client()
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    for record in definitions():
        answer = client.post(f"{CRDS}?dryRun=All", {**kind, **record["definition"]})
        found = causes(answer)
        for ours, theirs in zip(found, record["causes"], strict=False):
            if not theirs[2]:
                ours[2] = ""

        assert found == record["causes"], record["name"]


@contextmanager
def served(client: Client, schema: Json) -> Iterator[str]:
    """Return the path of a resource with a schema, and its API version."""
    group = f"g{uuid4().hex[:8]}.example.com"
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "gauges", "kind": "Gauge"}
    spec = {"group": group, "scope": "Cluster", "names": names, "versions": [version]}
    made = client.post(
        CRDS,
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"gauges.{group}"},
            "spec": spec,
        },
    )
    assert made.status == 201, made.body
    path = f"/apis/{group}/v1/gauges"
    wait_until(lambda: client.status(path) == 200, f"{path} to be served")
    yield path
    client.delete(f"{CRDS}/gauges.{group}")


@pytest.mark.parametrize("file", ["values.json", "rules.json"])
def test_new_objects(controlplane: ControlPlane, file: str) -> None:
    """Each recorded object that was created is stored, or refused for the same causes."""
    client = controlplane.client()
    created = [one for one in sent(file) if "old" not in one.record]
    for _, group in groupby(created, key=lambda one: id(one.schema)):
        records = list(group)
        with served(client, records[0].schema) as path:
            for one in records:
                check(client, path, one)


def check(client: Client, path: str, one: Sent) -> None:
    """Send an object and compare the response with the record."""
    body: Any = one.obj("sent")
    body["apiVersion"] = path.removeprefix("/apis/").removesuffix("/gauges")
    answer = client.post(f"{path}?dryRun=All", body)

    assert answer.status == one.record["status"], one.record["sent"]
    if answer.status == 201:
        assert {key: answer.body[key] for key in one.record["kept"]} == one.record["kept"]
    elif answer.status == 422:
        assert causes(answer) == one.record["causes"]
