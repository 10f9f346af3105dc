"""The objects that a new cluster has, and the controller that keeps aggregated roles."""

from datetime import timedelta
from typing import Any

import orjson
import pytest

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.actors import housekeepers
from myrmidon.apiserver.auth.users import Attributes, User
from myrmidon.apiserver.builtin.resource_types import builtin_types
from myrmidon.apiserver.catalog import files
from myrmidon.apiserver.requests.environment import CountingEnvironment
from myrmidon.apiserver.server import ApiServer
from myrmidon.apiserver.store import CompactedError, ObjectStore

RBAC = "/apis/rbac.authorization.k8s.io/v1"


def get(server: ApiServer, path: str) -> Any:
    """Read an object or a list."""
    answer = server.answer(HttpRequest("GET", path, (), {}))
    assert isinstance(answer, HttpResponse)
    assert answer.status == 200, answer.body
    return orjson.loads(answer.body)


def test_every_resource_is_stored_under_the_name_that_the_server_uses() -> None:
    """Otherwise its objects would never be found."""
    stored = {each.stored_as for each in builtin_types(ObjectStore())}

    assert set(files.start_objects()) <= stored


def test_a_new_cluster_has_the_service_of_its_server() -> None:
    """With the time at which the server was started."""
    environment = CountingEnvironment()
    environment.time += timedelta(days=1)
    server = ApiServer(environment=environment)
    service = get(server, "/api/v1/namespaces/default/services/kubernetes")
    slices = get(server, "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices")
    classes = get(server, "/apis/scheduling.k8s.io/v1/priorityclasses")
    schemas = get(server, "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas")

    assert service["spec"]["clusterIP"] == "10.0.0.1"
    assert service["metadata"]["creationTimestamp"] == "2026-01-02T00:00:00Z"
    assert [each["metadata"]["name"] for each in slices["items"]] == ["kubernetes"]
    assert len(classes["items"]) == 2
    assert len(schemas["items"]) == 11


def test_the_address_of_the_service_is_taken() -> None:
    """No other Service gets it."""
    server = ApiServer()
    for number in range(5):
        manifest = {"metadata": {"name": f"s{number}"}, "spec": {"ports": [{"port": 80}]}}
        server.request("POST", "/api/v1/namespaces/default/services", manifest)
    services = get(server, "/api/v1/namespaces/default/services")["items"]
    addresses = [each["spec"]["clusterIP"] for each in services]

    assert len(set(addresses)) == 6


def test_they_can_be_changed_and_deleted_on_one_server_alone() -> None:
    """All servers of a process share what was recorded."""
    one, other = ApiServer(), ApiServer()
    path = f"{RBAC}/clusterroles/view"
    merge = "application/merge-patch+json"
    one.request("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, content_type=merge)
    one.request("DELETE", f"{RBAC}/clusterroles/edit")

    assert get(one, path)["metadata"]["labels"]["a"] == "b"
    assert "a" not in get(other, path)["metadata"]["labels"]
    assert len(get(one, f"{RBAC}/clusterroles")["items"]) == 68
    assert len(get(other, f"{RBAC}/clusterroles")["items"]) == 69


def test_they_are_not_part_of_the_history() -> None:
    """A watch from the start has no events about them; ``written`` leaves them out."""
    server = ApiServer()
    with pytest.raises(CompactedError):
        server.store.changes("services", after=1)
    get(server, f"{RBAC}/clusterroles")

    assert {each["kind"] for each in server.store.written()} == {"Namespace"}


def test_a_checkpoint_has_them_whether_they_were_read_or_not() -> None:
    """And a rollback brings them back as they were."""
    server = ApiServer()
    get(server, f"{RBAC}/clusterroles")
    held = server.checkpoint()
    server.request("DELETE", f"{RBAC}/clusterroles/view")
    server.request("DELETE", "/api/v1/namespaces/default/services/kubernetes")
    server.rollback(held, CountingEnvironment(), [])

    assert get(server, f"{RBAC}/clusterroles/view")["metadata"]["name"] == "view"
    assert get(server, "/api/v1/namespaces/default/services/kubernetes")["spec"]
    assert len(held.changes) == 4


def test_a_labelled_role_is_added_to_view_edit_and_admin() -> None:
    """And leaves them when it is deleted; a role that a user aggregates works in the same way."""
    server = ApiServer(rbac=True, actors=housekeepers())
    before = get(server, f"{RBAC}/clusterroles/admin")["rules"]
    wanted = Attributes("get", "shop.example", "v1", "widgets", "", "default", "a")
    own = {
        "metadata": {"name": "own"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"part": "shop"}}]},
        "rules": [],
    }
    viewer = {
        "metadata": {
            "name": "widget-viewer",
            "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true", "part": "shop"},
        },
        "rules": [{"apiGroups": ["shop.example"], "resources": ["widgets"], "verbs": ["get"]}],
    }
    for role in (own, viewer):
        server.request("POST", f"{RBAC}/clusterroles", role)
    for name in ("own", "admin"):
        binding = {
            "metadata": {"name": name},
            "subjects": [{"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}],
            "roleRef": {
                "kind": "ClusterRole",
                "name": name,
                "apiGroup": "rbac.authorization.k8s.io",
            },
        }
        server.request("POST", f"{RBAC}/clusterrolebindings", binding)
    server.settle()
    allows = server.core.authorizer.allows
    while_there = [allows(User(name), wanted) for name in ("own", "admin")]
    server.request("DELETE", f"{RBAC}/clusterroles/widget-viewer")
    server.settle()

    assert while_there == [True, True]
    assert [allows(User(name), wanted) for name in ("own", "admin")] == [False, False]
    assert get(server, f"{RBAC}/clusterroles/admin")["rules"] == before
