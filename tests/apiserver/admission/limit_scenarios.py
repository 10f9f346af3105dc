"""Requests under ResourceQuotas and LimitRanges, to compare the embedded server with a real one.

Each scenario has a namespace of its own.  After each step the quotas of the namespace are read: on a
real server once the quota controller has counted.  ``recorded_limits.json`` has the answers of
kube-apiserver; ``python -m tests.cluster.record_limits`` writes it.
"""

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

Json: TypeAlias = dict[str, Any]
Ask: TypeAlias = Callable[[str, str, Any], tuple[int, Json]]
_GENERATED = re.compile(r"\b(b-)[a-z0-9]{5}\b")


class Step(NamedTuple):
    """One request in the namespace of the scenario."""

    method: str
    path: str  # below the namespace; "/apis/..." has a placeholder for it
    body: Json | None = None


def quota(name: str, hard: Json, **spec: Any) -> Step:
    """Create a ResourceQuota."""
    body = {"metadata": {"name": name}, "spec": {"hard": hard, **spec}}
    return Step("POST", "resourcequotas", body)


def limits(name: str, *items: Json) -> Step:
    """Create a LimitRange."""
    return Step(
        "POST", "limitranges", {"metadata": {"name": name}, "spec": {"limits": list(items)}}
    )


def container(name: str = "c", requests: Json | None = None, limits: Json | None = None) -> Json:
    """Build a container."""
    parts = {"requests": requests, "limits": limits}
    resources = {part: amounts for part, amounts in parts.items() if amounts is not None}
    return {"name": name, "image": "i", **({"resources": resources} if resources else {})}


def pod(name: str, *containers: Json, **spec: Any) -> Step:
    """Create a pod."""
    body = {"containers": list(containers) or [container()], **spec}
    return Step("POST", "pods", {"metadata": {"name": name}, "spec": body})


def ends(name: str, phase: str = "Succeeded") -> Step:
    """Let a pod end."""
    return Step("PATCH", f"pods/{name}/status", {"status": {"phase": phase}})


def service(name: str, kind: str, ports: int = 1, **spec: Any) -> Step:
    """Create a Service."""
    listed = [{"name": f"p{number}", "port": 80 + number} for number in range(ports)]
    body = {"type": kind, "ports": listed, **spec}
    return Step("POST", "services", {"metadata": {"name": name}, "spec": body})


def claim(name: str, storage: str, storage_class: str | None = None, **spec: Any) -> Step:
    """Create a PersistentVolumeClaim."""
    body: Json = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
    if storage_class is not None:
        body["storageClassName"] = storage_class
    return Step("POST", "persistentvolumeclaims", {"metadata": {"name": name}, "spec": body | spec})


def config(name: str) -> Step:
    """Create a ConfigMap."""
    return Step("POST", "configmaps", {"metadata": {"name": name}})


def deleted(path: str) -> Step:
    """Delete an object."""
    return Step("DELETE", path)


def deployment(name: str) -> Step:
    """Create a Deployment without replicas."""
    template = {"metadata": {"labels": {"a": name}}, "spec": {"containers": [container()]}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"a": name}}, "template": template}
    path = "/apis/apps/v1/namespaces/{namespace}/deployments"
    return Step("POST", path, {"metadata": {"name": name}, "spec": spec})


CPU = {"cpu": "500m", "memory": "252Mi"}
ITEM = {"type": "Container"}
SCENARIOS: dict[str, list[Step]] = {
    "counts": [
        config("before"),
        quota("q", {"configmaps": "2", "count/deployments.apps": "1", "resourcequotas": "1"}),
        config("one"),
        config("two"),
        config("one"),
        deployment("a"),
        deployment("b"),
        quota("other", {"pods": "1"}),
        deleted("configmaps/before"),
        config("two"),
        Step("PATCH", "resourcequotas/q", {"spec": {"hard": {"configmaps": "1", "secrets": "0"}}}),
        Step("POST", "secrets", {"metadata": {"name": "s"}}),
        Step("POST", "configmaps?dryRun=All", {"metadata": {"name": "dry"}}),
        Step("PATCH", "resourcequotas/q", {"spec": {"hard": {"configmaps": None}}}),
        config("free"),
    ],
    "compute": [
        quota(
            "q",
            {
                "pods": "3", "requests.cpu": "1", "limits.memory": "1Gi", "memory": "600Mi",
                "count/pods": "4", "requests.example.com/gpu": "3", "requests.ephemeral-storage": "1Gi",
            },
        ),
        pod("bare"),
        pod("half", container(requests=CPU), container("d", limits=CPU)),
        pod("full", container(requests=CPU, limits={"memory": "300Mi"})),
        pod("more", container(requests=CPU, limits={"memory": "300Mi"})),
        pod("over", container(requests=CPU, limits={"memory": "900Mi", "cpu": "2"})),
        pod(
            "gpu",
            container(requests={"cpu": "0", "memory": "0"}, limits={"memory": "1", "example.com/gpu": "2"}),
        ),
        pod(
            "gpus",
            container(requests={"cpu": "0", "memory": "0"}, limits={"memory": "1", "example.com/gpu": "2"}),
        ),
        ends("full"),
        pod("again", container(requests=CPU, limits={"memory": "300Mi"})),
        ends("again", "Failed"),
        deleted("pods/again"),
        pod(
            "init", container(requests={"cpu": "100m", "memory": "1Mi"}, limits={"memory": "1.5Mi"}),
            initContainers=[
                container("i", requests={"cpu": "300m", "memory": "1Mi"}, limits={"memory": "64M"}),
                {
                    **container("s", requests={"cpu": "50m", "memory": "1Mi"}, limits={"memory": "2Mi"}),
                    "restartPolicy": "Always",
                },
            ],
        ),
    ],
    "scopes": [
        quota("short", {"pods": "1"}, scopes=["Terminating"]),
        quota("long", {"pods": "1"}, scopes=["NotTerminating"]),
        quota("best", {"pods": "2"}, scopes=["BestEffort"]),
        quota("cared", {"pods": "2", "requests.cpu": "1"}, scopes=["NotBestEffort"]),
        pod("a"),
        pod("b"),
        pod("c", container(requests=CPU), activeDeadlineSeconds=60),
        pod("d", container(requests=CPU), activeDeadlineSeconds=60),
        pod("e", container(requests=CPU)),
        config("free"),
        deleted("pods/a"),
        pod("e", container(requests={"memory": "1Mi"})),
    ],
    "priorities": [
        quota(
            "in", {"pods": "1"},
            scopeSelector={"matchExpressions": [{
                "scopeName": "PriorityClass", "operator": "In", "values": ["system-node-critical"],
            }]},
        ),
        quota(
            "not", {"pods": "1"},
            scopeSelector={"matchExpressions": [{
                "scopeName": "PriorityClass", "operator": "NotIn", "values": ["system-node-critical"],
            }]},
        ),
        quota(
            "any", {"pods": "2"},
            scopeSelector={"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]},
        ),
        quota("across", {"pods": "0"}, scopes=["CrossNamespacePodAffinity"]),
        pod("a", priorityClassName="system-node-critical"),
        pod("b", priorityClassName="system-node-critical"),
        pod("c"),
        pod("d"),
        pod("e", priorityClassName="system-cluster-critical"),
        deleted("pods/c"),
        pod("f", affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "x", "namespaces": ["y"], "labelSelector": {}},
        ]}}),
    ],
    "services": [
        quota("q", {"services": "4", "services.nodeports": "3", "services.loadbalancers": "1"}),
        service("plain", "ClusterIP", 3),
        service("ports", "NodePort", 2),
        service("balanced", "LoadBalancer", 2),
        service("balanced", "LoadBalancer", 2, allocateLoadBalancerNodePorts=False),
        service("another", "LoadBalancer", 1, allocateLoadBalancerNodePorts=False),
        Step("PATCH", "services/plain", {"spec": {"type": "NodePort"}}),
        Step("PATCH", "services/plain", {"spec": {"ports": None, "type": "ClusterIP"}}),
        Step("PATCH", "services/ports", {"spec": {"type": "ClusterIP"}}),
        Step("PATCH", "services/plain", {"spec": {"type": "NodePort"}}),
        deleted("services/plain"),
    ],
    "claims": [
        quota(
            "q",
            {
                "persistentvolumeclaims": "3", "requests.storage": "10Gi",
                "gold.storageclass.storage.k8s.io/requests.storage": "4Gi",
                "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
            },
        ),
        claim("a", "3Gi", "gold"),
        claim("b", "512Mi", "gold"),
        claim("b", "8Gi", "silver"),
        claim("b", "2G", "silver"),
        claim("c", "1Gi", ""),
        claim("d", "1Gi"),
    ],
    "defaults": [
        limits(
            "l",
            {
                **ITEM, "default": {"cpu": "500m", "memory": "500Mi"}, "defaultRequest": {"cpu": "100m"},
                "min": {"cpu": "50m", "memory": "100Mi"}, "max": {"cpu": "500m", "memory": "500Mi"},
            },
        ),
        pod("bare"),
        pod("part", container(requests={"cpu": "300m"}), container("d", limits={"memory": "200Mi"}),
            initContainers=[container("i")]),
        pod("low", container(requests={"cpu": "10m", "memory": "50Mi"})),
        pod("high", container(requests={"cpu": "600m"}, limits={"cpu": "600m", "memory": "600Mi"})),
        Step("PATCH", "limitranges/l", {"spec": {"limits": [{**ITEM, "max": {"cpu": "1"}}]}}),
        pod("new"),
        deleted("limitranges/l"),
        pod("free", container(requests={"cpu": "6"})),
    ],
    "limits": [
        limits(
            "l",
            {
                **ITEM, "maxLimitRequestRatio": {"cpu": "2", "memory": "1.5"},
            },
            {"type": "Pod", "max": {"cpu": "2", "memory": "1Gi"}, "min": {"cpu": "200m"}},
            {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "10Gi"}},
        ),
        pod("ratio", container(requests={"cpu": "1", "memory": "100Mi"}, limits={"cpu": "3", "memory": "100Mi"})),
        pod("fine", container(requests={"cpu": "1", "memory": "100Mi"}, limits={"cpu": "2", "memory": "150Mi"})),
        pod("none"),
        pod("big", *[container(f"c{n}", limits={"cpu": "1500m", "memory": "600Mi"}) for n in range(2)]),
        claim("small", "1Mi", ""),
        claim("large", "11Gi", ""),
        claim("right", "5Gi", ""),
    ],
    "both": [
        limits("l", {**ITEM, "default": {"cpu": "200m", "memory": "100Mi"}}),
        quota("q", {"requests.cpu": "300m", "limits.memory": "1Gi", "hugepages-2Mi": "4Mi"}),
        pod("a"),
        pod("b"),
        pod("huge", container(limits={"hugepages-2Mi": "6Mi", "cpu": "1m"})),
        deleted("resourcequotas/q"),
        pod("b"),
    ],
    "unknown": [
        quota("q", {"count/nothing.example.com": "1", "requests.foo/x": "2", "count/events": "0", "pods": "1"}),
        Step("POST", "events", {
            "metadata": {"name": "e"}, "involvedObject": {"namespace": "{namespace}"}, "reason": "r",
        }),
        pod("a"),
        Step("POST", "pods", {"metadata": {"generateName": "b-"}, "spec": {"containers": [container()]}}),
        Step("PATCH", "pods/a", {"metadata": {"labels": {"x": "y"}}}),
        deleted("pods/a?gracePeriodSeconds=0"),
    ],
}  # fmt: skip


def refused(path: str, spec: Json) -> list[Step]:
    """Create an object that is likely to be refused, and delete it if it was not."""
    return [
        Step("POST", path, {"metadata": {"name": "x"}, "spec": spec}),
        Step("DELETE", f"{path}/x"),
    ]


def bad_quota(hard: Json, *expressions: Json, scopes: list[str] | None = None) -> list[Step]:
    """Create a quota, with scopes or expressions that select them."""
    spec: Json = {"hard": hard}
    if scopes:
        spec["scopes"] = scopes
    if expressions:
        spec["scopeSelector"] = {"matchExpressions": list(expressions)}
    return refused("resourcequotas", spec)


def bad_limits(*items: Json) -> list[Step]:
    """Create a LimitRange."""
    return refused("limitranges", {"limits": list(items)})


CLASS = "PriorityClass"
SCENARIOS["invalid quotas"] = [
    step
    for steps in (
        bad_quota({"foo": "1"}),
        bad_quota({"pods": "1.5"}),
        bad_quota({"pods": "-1"}),
        bad_quota({"count/pods": "0.5"}),
        bad_quota({"a b": "1"}),
        bad_quota({"example.com/x": "1"}),
        bad_quota({"requests.example.com/x": "1"}),
        bad_quota({"storage": "1"}),
        bad_quota({"requests.cpu": "-1"}),
        bad_quota({"pods": "1"}, scopes=["Nope"]),
        bad_quota({"pods": "1"}, scopes=["BestEffort", "NotBestEffort"]),
        bad_quota({"pods": "1", "requests.cpu": "1"}, scopes=["BestEffort"]),
        bad_quota({"services": "1", "pods": "2"}, scopes=["Terminating"]),
        bad_quota({"configmaps": "1"}, scopes=["NotTerminating", "Terminating"]),
        bad_quota({"pods": "1"}, {"scopeName": CLASS, "operator": "In"}),
        bad_quota({"pods": "1"}, {"scopeName": CLASS, "operator": "Exists", "values": ["a"]}),
        bad_quota({"pods": "1"}, {"scopeName": "BestEffort", "operator": "In", "values": ["a"]}),
        bad_quota({"pods": "1"}, {"scopeName": "Nope", "operator": "Exists"}),
        bad_quota({"pods": "1"}, {"scopeName": CLASS, "operator": "Foo"}),
        bad_quota({"pods": "1", "cpu": "1"}, scopes=["CrossNamespacePodAffinity"]),
        bad_quota({"persistentvolumeclaims": "1"}, scopes=["VolumeAttributesClass"]),
        bad_quota({"pods": "1"}, scopes=["VolumeAttributesClass"]),
        bad_quota({"count/pods": "1"}, scopes=["Terminating"]),
        bad_quota({"pods": "1"}, scopes=["BestEffort", "BestEffort"]),
    )
    for step in steps
]  # fmt: skip
SCENARIOS["invalid limits"] = [
    step
    for steps in (
        bad_limits({"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}),
        bad_limits({"type": "Foo"}),
        bad_limits({"type": "Container"}, {"type": "Container"}),
        bad_limits({"type": "Pod", "default": {"cpu": "1"}}),
        bad_limits({"type": "Pod", "defaultRequest": {"cpu": "1"}}),
        bad_limits({"type": "PersistentVolumeClaim"}),
        bad_limits({"type": "PersistentVolumeClaim", "min": {"cpu": "1"}}),
        bad_limits({"type": "Container", "max": {"foo": "1"}}),
        bad_limits({"type": "Container", "max": {"cpu": "1"}, "default": {"cpu": "2"}}),
        bad_limits({"type": "Container", "max": {"cpu": "1"}, "defaultRequest": {"cpu": "2"}}),
        bad_limits({"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "2"}}),
        bad_limits({"type": "Container", "min": {"cpu": "1"}, "default": {"cpu": "500m"}}),
        bad_limits({"type": "Container", "min": {"cpu": "1"}, "defaultRequest": {"cpu": "500m"}}),
        bad_limits({"type": "Container", "maxLimitRequestRatio": {"cpu": "500m"}}),
        bad_limits({"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "3"}}),
        bad_limits({"type": "Container", "min": {"cpu": "-1"}}),
        bad_limits({"type": ""}),
        bad_limits(),
        bad_limits({"type": "Container", "max": {"hugepages-2Mi": "4Mi"}, "default": {"hugepages-2Mi": "2Mi"}, "defaultRequest": {"hugepages-2Mi": "1Mi"}}),
        bad_limits({"type": "example.com/x", "max": {"cpu": "1"}}),
    )
    for step in steps
]  # fmt: skip


def play(
    ask: Ask, quotas: Callable[[], list[Json]], namespace: str, steps: list[Step]
) -> list[Json]:
    """Run the steps of a scenario; return what the server answered, without what differs by chance."""
    answers: list[Json] = []
    for step in steps:
        path = (
            step.path
            if step.path.startswith("/")
            else f"/api/v1/namespaces/{namespace}/{step.path}"
        )
        status, body = ask(
            step.method, path.format(namespace=namespace), _placed(step.body, namespace)
        )
        answers.append({"code": status, **_kept(body), "quotas": _states(quotas())})
    text = json.dumps(answers).replace(namespace, "{namespace}")
    return list(json.loads(_GENERATED.sub(r"\1*****", text)))


def _placed(body: Any, namespace: str) -> Any:
    if isinstance(body, dict):
        return {key: _placed(value, namespace) for key, value in body.items()}
    return body.format(namespace=namespace) if body == "{namespace}" else body


def _kept(body: Json) -> Json:
    if body.get("kind") == "Status":
        message = _ordered(body.get("message", ""))
        details = {key: value for key, value in (body.get("details") or {}).items() if key != "uid"}
        return {"message": message, "reason": body.get("reason"), "details": details}
    if body.get("kind") != "Pod":
        return {}
    spec = body["spec"]
    listed = [*spec["containers"], *spec.get("initContainers", [])]
    return {
        "resources": [one.get("resources") for one in listed],
        "annotations": body["metadata"].get("annotations"),
        "qosClass": (body.get("status") or {}).get("qosClass"),
    }


def _ordered(message: str) -> str:
    """Sort the problems with resources, which the real server finds in the order of a Go map."""
    before, found, listed = message.partition(" is forbidden: [")
    return f"{before}{found}{', '.join(sorted(listed[:-1].split(', ')))}]" if found else message


def _states(quotas: list[Json]) -> Json:
    return {each["metadata"]["name"]: each.get("status") for each in quotas}
