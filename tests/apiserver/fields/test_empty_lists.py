"""Empty lists of fields that are always written: owned by their sender, and stored as null."""

from typing import Any

import pytest

from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.server import ApiServer

ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
SLICE = {"addressType": "IPv4"}


@pytest.mark.parametrize(
    ("path", "body", "owned"),
    [
        pytest.param(ROLES, {}, set(), id="nothing"),
        pytest.param(ROLES, {"rules": None}, set(), id="null"),
        pytest.param(ROLES, {"rules": []}, {"f:rules"}, id="rules"),
        pytest.param(SLICES, SLICE | {"endpoints": None, "ports": []}, {"f:ports"}, id="ports"),
        pytest.param(SLICES, SLICE | {"endpoints": []}, {"f:endpoints"}, id="endpoints"),
    ],
)
def test_the_sender_of_an_empty_list_owns_it(path: str, body: Any, owned: set[str]) -> None:
    """As recorded from a real server."""
    answer = ApiServer().request("POST", path, {"metadata": {"name": "x"}, **body})
    found = go_json.decode(answer.body)
    entries = found["metadata"].get("managedFields") or [{"fieldsV1": {}}]
    assert entries[0]["fieldsV1"].keys() - {"f:addressType"} == owned
    assert all(found[field] is None for field in ("rules", "endpoints", "ports") if field in found)


def test_an_empty_list_in_place_of_none_is_not_a_change() -> None:
    """So no manager becomes its owner."""
    server = ApiServer()
    before = server.request("POST", ROLES, {"metadata": {"name": "x"}})
    after = server.request("PUT", f"{ROLES}/x", {"metadata": {"name": "x"}, "rules": []})
    assert go_json.decode(after.body) == go_json.decode(before.body)
