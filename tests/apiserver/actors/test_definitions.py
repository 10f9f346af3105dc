"""The status subresource of a CustomResourceDefinition, as recorded from a real server."""

from typing import Any

from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.server import ApiServer

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
STATUS = f"{DEFINITIONS}/toys.example.com/status"
TOYS = {
    "metadata": {"name": "toys.example.com", "labels": {"age": "3"}},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "toys", "kind": "Toy"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}


def patched(server: ApiServer, patch: Any) -> Any:
    """Return the result of a merge patch of the status."""
    answer = server.request("PATCH", STATUS, patch, content_type="application/merge-patch+json")
    return go_json.decode(answer.body)


def test_metadata_is_written_through_the_status_and_the_spec_is_not() -> None:
    """The writer owns the metadata under the subresource."""
    server = ApiServer()
    server.create(
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", **TOYS}
    )
    metadata = {
        "labels": {"age": None, "color": "red"},
        "annotations": {"note": "x"},
        "finalizers": ["example.com/hold"],
    }
    found = patched(server, {"metadata": metadata, "spec": {"scope": "Cluster"}})
    assert found["spec"]["scope"] == "Namespaced"
    assert found["metadata"]["labels"] == {"color": "red"}
    assert found["metadata"]["annotations"] == {"note": "x"}
    assert found["metadata"]["finalizers"] == ["example.com/hold"]
    entry = next(each for each in found["metadata"]["managedFields"] if "subresource" in each)
    assert entry["fieldsV1"]["f:metadata"] == {
        "f:annotations": {".": {}, "f:note": {}},
        "f:finalizers": {".": {}, 'v:"example.com/hold"': {}},
        "f:labels": {"f:color": {}},
    }


def test_metadata_is_checked_there_too() -> None:
    """An invalid label is refused."""
    server = ApiServer()
    server.create(
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", **TOYS}
    )
    assert patched(server, {"metadata": {"labels": {"!": "x"}}})["code"] == 422
