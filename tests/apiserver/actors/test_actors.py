"""The built-in controllers (actors) of the server, which act beside the requests."""

from datetime import timedelta
from typing import Any

from myrmidon.apiserver.actors import (
    Deployments,
    GarbageCollector,
    ReplicaSets,
    ServiceAccounts,
    cluster_actors,
    housekeepers,
)
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.requests.environment import CountingEnvironment
from myrmidon.apiserver.server import ApiServer

NAMESPACES = "/api/v1/namespaces"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
REVISION = "deployment.kubernetes.io/revision"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def ask(server: ApiServer, method: str, path: str, body: Any = None) -> Any:
    """Return the response to a request after the server has settled."""
    answer = server.request(method, path, body)
    server.settle()
    return go_json.decode(answer.body)


def accounts(server: ApiServer, namespace: str) -> list[str]:
    """Return the service accounts of a namespace."""
    found = ask(server, "GET", f"{NAMESPACES}/{namespace}/serviceaccounts")
    return [item["metadata"]["name"] for item in found["items"]]


def test_a_namespace_gets_a_service_account() -> None:
    """The first namespaces have theirs from the start."""
    server = ApiServer(actors=[ServiceAccounts()])
    ask(server, "POST", NAMESPACES, {"metadata": {"name": "team"}})
    assert accounts(server, "default") == accounts(server, "team") == ["default"]


def test_a_deleted_default_account_comes_back_and_no_other() -> None:
    """It is a new object, with another uid."""
    server = ApiServer(actors=[ServiceAccounts()])
    path = f"{NAMESPACES}/default/serviceaccounts"
    ask(server, "POST", path, {"metadata": {"name": "mine"}})
    before = ask(server, "GET", f"{path}/default")["metadata"]["uid"]
    for name in ("default", "mine"):
        ask(server, "DELETE", f"{path}/{name}")
    assert accounts(server, "default") == ["default"]
    assert ask(server, "GET", f"{path}/default")["metadata"]["uid"] != before


def test_actors_do_not_wait_for_webhooks() -> None:
    """The server cannot call webhooks while it settles, so their writes count as allowed."""
    server = ApiServer(actors=[ServiceAccounts()])
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    webhook = {
        "name": "all.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"url": "https://127.0.0.1:1/never-asked"},
        "rules": [rule],
    }
    ask(server, "POST", WEBHOOKS, {"metadata": {"name": "all"}, "webhooks": [webhook]})
    ask(server, "POST", NAMESPACES, {"metadata": {"name": "team"}})
    assert accounts(server, "team") == ["default"]


def test_an_owner_that_cannot_be_found_keeps_what_it_owns() -> None:
    """The owner of a cluster-scoped object may be, or have been, in any namespace."""
    server = ApiServer(actors=[GarbageCollector()])
    lost = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "gone"}
    gone = {"apiVersion": "v1", "kind": "Namespace", "name": "y", "uid": "gone as well"}
    for name, owners in (("lost", [lost]), ("both", [gone, lost]), ("gone", [gone])):
        ask(server, "POST", ROLES, {"metadata": {"name": name, "ownerReferences": owners}})
    found = ask(server, "GET", ROLES)["items"]
    assert {"both", "lost"} <= {item["metadata"]["name"] for item in found}


def test_children_of_a_definition_that_comes_back_are_collected() -> None:
    """While the kind of their owner is not served they stay; once it is served again they go."""
    server = ApiServer(actors=[GarbageCollector()])
    definition: Any = {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "singular": "widget"},
            "versions": [{
                "name": "v1", "served": True, "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    }  # fmt: skip
    assert server.create(definition) == ""
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    there = "/apis/example.com/v1/namespaces/default/widgets"
    uid = ask(server, "POST", there, widget)["metadata"]["uid"]
    owner = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": uid}
    meta = {"name": "child", "namespace": "default", "ownerReferences": [owner]}
    assert server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}) == ""
    name = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"
    ask(server, "DELETE", name)
    assert server.store.get("configmaps", "default/child") is not None
    assert server.create(definition) == ""
    assert server.store.get("configmaps", "default/child") is None


def rolled_out(server: ApiServer, template: Any) -> tuple[str | None, dict[str, str]]:
    """Return the revision of a deployment, and those of its sets by their images."""
    path = "/apis/apps/v1/namespaces/default"
    spec = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    ask(server, "POST", f"{path}/deployments", {"metadata": {"name": "web"}, "spec": spec})
    deployment = ask(server, "GET", f"{path}/deployments/web")
    ask(server, "PUT", f"{path}/deployments/web", {**deployment, "spec": spec})
    deployment = ask(server, "GET", f"{path}/deployments/web")
    sets = ask(server, "GET", f"{path}/replicasets")["items"]
    annotations = deployment["metadata"].get("annotations") or {}
    return annotations.get(REVISION), {
        one["spec"]["template"]["spec"]["containers"][0]["image"]: one["metadata"]["annotations"][
            REVISION
        ]
        for one in sets
    }


def template(image: str) -> Any:
    """Build a pod template with one container."""
    container = {"name": "c", "image": image}
    return {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}


def test_a_rollback_takes_up_the_old_set_as_a_new_revision() -> None:
    """However the template is written the second time."""
    server = ApiServer(actors=[Deployments(), ReplicaSets()])
    assert rolled_out(server, template("one")) == ("1", {"one": "1"})
    assert rolled_out(server, template("two")) == ("2", {"one": "1", "two": "2"})
    first = template("one")
    backwards = {key: first[key] for key in reversed(first)}
    assert rolled_out(server, backwards) == ("3", {"one": "3", "two": "2"})
    deployment = ask(server, "GET", "/apis/apps/v1/namespaces/default/deployments/web")
    assert deployment["metadata"]["generation"] == 3  # the annotation does not count
    assert deployment["status"]["observedGeneration"] == 3


# ------------------------------------------------------------- workloads, pods and storage

APPS = "/apis/apps/v1/namespaces/default"
PODS = f"{NAMESPACES}/default/pods"
QUOTAS = f"{NAMESPACES}/default/resourcequotas"


def pod_template(image: str = "a") -> Any:
    """Build a pod template."""
    spec = {"containers": [{"name": "c", "image": image}]}
    return {"metadata": {"labels": {"app": "web"}}, "spec": spec}


def workload(replicas: int = 1, image: str = "a", **more: Any) -> Any:
    """Build a Deployment or a ReplicaSet."""
    selector = {"matchLabels": {"app": "web"}}
    spec = {"replicas": replicas, "selector": selector, "template": pod_template(image), **more}
    return {"metadata": {"name": "web", "labels": {"app": "web"}}, "spec": spec}


def names(server: ApiServer, path: str) -> list[str]:
    """Return the names of all objects of a collection."""
    return [item["metadata"]["name"] for item in ask(server, "GET", path)["items"]]


def patch(server: ApiServer, path: str, body: Any) -> Any:
    """Send a merge patch."""
    answer = server.request("PATCH", path, body, content_type="application/merge-patch+json")
    server.settle()
    return go_json.decode(answer.body)


def running(server: ApiServer) -> None:
    """Let the time pass in which pods become ready."""
    assert isinstance(server.core.environment, CountingEnvironment)
    server.core.environment.time += timedelta(seconds=2)
    server.settle()


def test_recreate_removes_the_old_pods_first() -> None:
    """No moment has pods of both templates."""
    server = ApiServer(actors=cluster_actors())
    made = workload(2, strategy={"type": "Recreate"})
    ask(server, "POST", f"{APPS}/deployments", made)
    running(server)
    before = server.store.revision
    patch(server, f"{APPS}/deployments/web", {"spec": {"template": pod_template("b")}})
    alive: dict[str, str] = {}
    for change in server.store.all_changes(after=before):
        if change.resource == "pods" and change.deleted:
            alive.pop(change.record.key, None)
        elif change.resource == "pods":
            image = change.record.value["spec"]["containers"][0]["image"]
            alive[change.record.key] = image
            assert len(set(alive.values())) == 1
    assert sorted(alive.values()) == ["b", "b"]


def test_pods_and_sets_are_adopted() -> None:
    """A ReplicaSet takes over matching pods without a controller, a Deployment such ReplicaSets."""
    server = ApiServer(actors=[Deployments(), ReplicaSets(), GarbageCollector()])
    ask(
        server,
        "POST",
        PODS,
        {**pod_template(), "metadata": {"name": "lone", "labels": {"app": "web"}}},
    )
    ask(server, "POST", f"{APPS}/replicasets", workload(1))
    assert names(server, PODS) == ["lone"]
    ask(server, "POST", f"{APPS}/deployments", workload(1))
    assert names(server, f"{APPS}/replicasets") == ["web"]
    assert names(server, PODS) == ["lone"]
    patch(server, f"{PODS}/lone", {"metadata": {"labels": {"app": "other"}}})
    assert len(names(server, PODS)) == 2  # released, and replaced
    assert "ownerReferences" not in ask(server, "GET", f"{PODS}/lone")["metadata"]


def test_a_job_of_another_controller() -> None:
    """A Job with ``managedBy`` is left alone, and a suspended one gets no pods."""
    server = ApiServer(actors=cluster_actors())
    path = "/apis/batch/v1/namespaces/default/jobs"
    spec = {"template": {"spec": {**pod_template()["spec"], "restartPolicy": "Never"}}}
    for name, more in (("other", {"managedBy": "example.com/mine"}), ("later", {"suspend": True})):
        ask(server, "POST", path, {"metadata": {"name": name}, "spec": {**spec, **more}})
    assert names(server, PODS) == []
    assert ask(server, "GET", f"{path}/other")["status"] == {}


def test_a_running_pod_has_a_node_and_an_address() -> None:
    """When it is deleted, watches see it terminating before it is gone."""
    server = ApiServer(actors=cluster_actors())
    ask(server, "POST", PODS, {"metadata": {"name": "p"}, "spec": pod_template()["spec"]})
    running(server)
    pod = ask(server, "GET", f"{PODS}/p")
    assert pod["spec"]["nodeName"] == "node"
    assert pod["status"]["podIPs"] == [{"ip": pod["status"]["podIP"]}]
    before = server.store.revision
    ask(server, "DELETE", f"{PODS}/p")
    seen = [
        (change.deleted, "deletionTimestamp" in change.record.value["metadata"])
        for change in server.store.changes("pods", after=before)
    ]
    assert seen[0] == (False, True)
    assert seen[-1][0]


def test_pods_that_a_quota_refuses_come_when_it_grows() -> None:
    """Until then the ReplicaSet says why they are missing."""
    server = ApiServer(actors=cluster_actors())
    ask(server, "POST", QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}})
    ask(server, "POST", f"{APPS}/replicasets", workload(3))
    [condition] = ask(server, "GET", f"{APPS}/replicasets/web")["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("ReplicaFailure", "FailedCreate")
    assert "exceeded quota: q, requested: pods=1, used: pods=1" in condition["message"]
    patch(server, f"{QUOTAS}/q", {"spec": {"hard": {"pods": "5"}}})
    assert len(names(server, PODS)) == 3
    assert "conditions" not in ask(server, "GET", f"{APPS}/replicasets/web")["status"]


def test_storage_is_released_when_it_is_not_used() -> None:
    """The housekeepers do it, so a claim can be deleted on every server; a pod keeps its claim."""
    server = ApiServer(actors=housekeepers())
    claims = f"{NAMESPACES}/default/persistentvolumeclaims"
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": resources}
    for name in ("free", "used"):
        ask(server, "POST", claims, {"metadata": {"name": name}, "spec": spec})
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "used"}}
    body = {"metadata": {"name": "p"}, "spec": {**pod_template()["spec"], "volumes": [volume]}}
    ask(server, "POST", PODS, body)
    source = {"hostPath": {"path": "/x"}, "capacity": {"storage": "1Gi"}}
    volumes = "/api/v1/persistentvolumes"
    made = {"metadata": {"name": "v"}, "spec": {**source, "accessModes": ["ReadWriteOnce"]}}
    ask(server, "POST", volumes, made)
    ask(server, "DELETE", f"{volumes}/v")
    for name in ("free", "used"):
        ask(server, "DELETE", f"{claims}/{name}")
    assert (names(server, claims), names(server, volumes)) == (["used"], [])
    ask(server, "DELETE", f"{PODS}/p")
    assert names(server, claims) == []
