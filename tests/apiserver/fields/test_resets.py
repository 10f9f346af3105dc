"""A write through /status does not change the owner of fields that it cannot set."""

import json

import pytest

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.server import ApiServer

FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
CIDR = "/apis/networking.k8s.io/v1/servicecidrs"
QUOTA = "/api/v1/namespaces/default/resourcequotas"
META = {"name": "a", "labels": {"a": "b"}}
BODIES: dict[str, Json] = {
    FLOW: {"spec": {"priorityLevelConfiguration": {"name": "exempt"}}},
    CIDR: {"spec": {"cidrs": ["10.1.0.0/24"]}},
    QUOTA: {"spec": {}},
}


@pytest.mark.parametrize(("path", "owns"), [(FLOW, False), (CIDR, False), (QUOTA, True)])
def test_a_label_through_status(path: str, owns: bool) -> None:
    """The status of some kinds leaves all metadata alone, as in kube-apiserver v1.36.4."""
    server = ApiServer()
    created = server.request("POST", path, {"metadata": META, **BODIES[path]})
    assert created.status == 201, created.body
    patch = {
        "metadata": {"labels": {"x": "y"}},
        "status": {"conditions": [{"type": "T", "status": "True"}]},
    }
    if path == QUOTA:
        patch["status"] = {"used": {"pods": "1"}}

    answer = server.request(
        "PATCH",
        f"{path}/a/status",
        patch,
        content_type="application/merge-patch+json",
        query=(("fieldManager", "m"),),
    )

    assert answer.status == 200, answer.body
    entries = json.loads(answer.body)["metadata"]["managedFields"]
    (entry,) = [each for each in entries if each["manager"] == "m"]
    assert ("f:metadata" in entry["fieldsV1"]) is owns
    assert "f:status" in entry["fieldsV1"]
