"""The metadata of custom objects is read as Go reads it: recorded from kube-apiserver v1.36.4."""

import json
from typing import Any

import pytest

from myrmidon.apiserver.schema.object_meta import decode_object_meta
from myrmidon.apiserver.server import ApiServer
from tests.apiserver.test_hostile_bodies import BOXES, definition

SERVER = ApiServer()
assert not SERVER.create(definition())


def create(metadata: Any) -> tuple[int, Any]:
    """Create a Box; return status and body of the response."""
    body = {"apiVersion": "example.com/v1", "kind": "Box", "metadata": metadata, "spec": {}}
    answer = SERVER.request("POST", BOXES, body, query=(("dryRun", "All"),))
    return answer.status, json.loads(answer.body)


@pytest.mark.parametrize(
    ("metadata", "status"),
    [
        ({"managedFields": [{"manager": 1}]}, 400),
        ({"managedFields": [{"manager": "m", "operation": "Update", "time": "x"}]}, 400),
        ({"managedFields": [{"fieldsV1": 1}]}, 400),
        ({"managedFields": []}, 201),
        ({"generation": 1.0}, 201),
        ({"generation": 1.5}, 400),
        ({"generation": "1"}, 400),
        ({"deletionGracePeriodSeconds": 0}, 201),
        ({"labels": {"a": None}}, 201),
        ({"labels": {"a": 1}}, 400),
        ({"finalizers": [None]}, 422),
        ({"creationTimestamp": "2024-01-01"}, 400),
        ({"creationTimestamp": "2024-01-01T00:00:00.5+02:00"}, 201),
    ],
)
def test_metadata_is_typed(metadata: Any, status: int) -> None:
    """A wrong type is a 400; a whole float is an integer."""
    assert create({"name": "a", **metadata})[0] == status


def test_an_owner_has_all_its_fields() -> None:
    """Go always writes them, so a missing one is empty, and refused."""
    status, answer = create({"name": "a", "ownerReferences": [{"name": "x"}]})

    assert status == 422
    assert {cause["field"] for cause in answer["details"]["causes"]} >= {
        "metadata.ownerReferences.uid"
    }


def test_a_whole_float_becomes_an_integer() -> None:
    """It is printed without a decimal point."""
    decoded, unknown = decode_object_meta({"generation": 2.0, "deletionGracePeriodSeconds": 0.0})

    assert [type(decoded[name]) for name in sorted(decoded)] == [int, int]
    assert unknown == []
