"""A new cluster: the same objects, and the same rights of view, edit and admin, on both servers."""

from typing import Any

import pytest

from myrmidon.apiserver.actors import housekeepers
from myrmidon.apiserver.catalog import files
from myrmidon.apiserver.server import ApiServer
from tests.cluster.controlplane.binaries import UnavailableError, find
from tests.cluster.controlplane.controlplane import CONTROLLERS, ControlPlane
from tests.cluster.controlplane.processes import wait_until
from tests.cluster.record_start_objects import (
    ADDRESS,
    AGGREGATOR,
    is_complete,
    recorded,
)
from tests.cluster.twins import Ask, Twins

RBAC = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
RESOURCES = (
    ("", "pods"), ("", "pods/exec"), ("", "pods/log"), ("", "secrets"), ("", "configmaps"),
    ("", "services"), ("", "serviceaccounts"), ("", "serviceaccounts/token"), ("", "nodes"),
    ("", "resourcequotas"), ("", "namespaces"), ("", "endpoints"), ("", "bindings"),
    ("apps", "deployments"), ("apps", "deployments/scale"), ("apps", "daemonsets/status"),
    ("batch", "cronjobs"), ("networking.k8s.io", "ingresses"), ("policy", "poddisruptionbudgets"),
    ("discovery.k8s.io", "endpointslices"), ("coordination.k8s.io", "leases"),
    ("rbac.authorization.k8s.io", "roles"), ("rbac.authorization.k8s.io", "rolebindings"),
    ("authorization.k8s.io", "localsubjectaccessreviews"), ("shop.example", "widgets"),
)  # fmt: skip
VERBS = ("get", "list", "create", "update", "delete", "impersonate")


@pytest.fixture(scope="module")
def plane() -> Any:
    """A server of its own, with the controller for aggregated roles."""
    try:
        binaries = find()
    except UnavailableError as error:
        pytest.skip(str(error))
    with ControlPlane(
        binaries,
        controllers=(*CONTROLLERS, AGGREGATOR),
        apiserver_flags={"endpoint_reconciler_type": "lease", "advertise_address": ADDRESS},
    ) as plane:
        wait_until(lambda: is_complete(plane.client()), "the objects of a new cluster", 60)
        yield plane


def test_the_recorded_objects_are_those_of_a_new_cluster(plane: ControlPlane) -> None:
    """Ordered by name; a time is a placeholder, and uids count."""
    assert recorded(plane.client(), plane.port) == files.start_objects()


def test_view_edit_and_admin_may_do_the_same(plane: ControlPlane) -> None:
    """After a role of a custom resource was added to view, too."""
    twins = Twins(plane, ApiServer(rbac=True, actors=housekeepers()))
    viewer = {
        "metadata": {
            "name": "widget-viewer",
            "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"},
        },
        "rules": [{"apiGroups": ["shop.example"], "resources": ["widgets"], "verbs": ["get"]}],
    }
    twins.ask(Ask("POST", f"{RBAC}/clusterroles", viewer))
    for role in ("view", "edit", "admin"):
        subject = {"kind": "User", "name": role, "apiGroup": "rbac.authorization.k8s.io"}
        binding = {
            "metadata": {"name": f"the-{role}"},
            "subjects": [subject],
            "roleRef": {"kind": "ClusterRole", "name": role, "apiGroup": subject["apiGroup"]},
        }
        twins.ask(Ask("POST", f"{RBAC}/namespaces/default/rolebindings", binding))

    def allowed(role: str, group: str, resource: str, verb: str) -> list[bool]:
        name, _, below = resource.partition("/")
        wanted = {"namespace": "default", "group": group, "resource": name, "verb": verb}
        attributes = wanted | ({"subresource": below} if below else {})
        spec = {"user": role, "resourceAttributes": attributes}
        theirs, ours, _ = twins.ask(Ask("POST", REVIEWS, {"spec": spec}))
        return [answer.body["status"]["allowed"] for answer in (theirs, ours)]

    wait_until(lambda: allowed("view", "shop.example", "widgets", "get")[0], "aggregation", 30)
    wait_until(lambda: allowed("admin", "shop.example", "widgets", "get")[0], "aggregation", 30)
    probes = [
        (role, group, resource, verb)
        for role in ("view", "edit", "admin")
        for group, resource in RESOURCES
        for verb in VERBS
    ]
    wrong = [probe for probe in probes if len(set(allowed(*probe))) == 2]

    assert len(probes) == 450
    assert wrong == []
    roles = [twins.ask(Ask("GET", f"{RBAC}/clusterroles/{name}"))[:2] for name in ("view", "admin")]
    assert [one.body["rules"] for one, _ in roles] == [other.body["rules"] for _, other in roles]
