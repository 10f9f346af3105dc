"""Preparation of Pods: QoS class, tolerations, priority."""

from collections.abc import Iterable
from decimal import Decimal

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.quantities import parse_quantity
from myrmidon.apiserver.builtin.lookup import ObjectLookup
from myrmidon.apiserver.refusals.failures import Failure

_NOT_READY = "node.kubernetes.io/not-ready"
_UNREACHABLE = "node.kubernetes.io/unreachable"
_TOLERATED_SECONDS = 300
_SYSTEM_PRIORITIES = {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}


def create_pod(pod: Json, cluster: ObjectLookup) -> None:
    """Set status, priority and QoS class, and the tolerations of an unavailable node."""
    spec = pod["spec"]
    _add_default_tolerations(spec)
    _set_priority(pod, cluster)
    pod["status"] = {"phase": "Pending", "qosClass": quality_of_service(spec)}
    if spec.get("schedulingGates"):
        pod["status"]["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
                "lastProbeTime": None,
                "lastTransitionTime": pod["metadata"].get("creationTimestamp"),
            }
        ]


def update_pod(pod: Json, old: Json, cluster: ObjectLookup) -> None:
    """Restore the tolerations and the priority if the request removed them."""
    del cluster
    _add_default_tolerations(pod["spec"])
    for field in ("priority", "preemptionPolicy"):
        if field in old["spec"]:
            pod["spec"].setdefault(field, old["spec"][field])


def update_pod_status(pod: Json, old: Json, cluster: ObjectLookup) -> None:
    """Keep the QoS class and the owner references, which a status update cannot change."""
    del cluster
    if "qosClass" in old["status"]:
        pod["status"].setdefault("qosClass", old["status"]["qosClass"])
    pod["metadata"].pop("ownerReferences", None)
    if "ownerReferences" in old["metadata"]:
        pod["metadata"]["ownerReferences"] = old["metadata"]["ownerReferences"]


def _add_default_tolerations(spec: Json) -> None:
    tolerations = spec.get("tolerations", [])
    missing = [
        key
        for key in (_NOT_READY, _UNREACHABLE)
        if not any(
            toleration.get("key", "") in ("", key)
            and toleration.get("effect", "") in ("", "NoExecute")
            for toleration in tolerations
        )
    ]
    added = [
        {
            "key": key,
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": _TOLERATED_SECONDS,
        }
        for key in missing
    ]
    if added:
        spec["tolerations"] = [*tolerations, *added]


def _set_priority(pod: Json, cluster: ObjectLookup) -> None:
    spec = pod["spec"]
    classes = list(cluster.objects("scheduling.k8s.io", "priorityclasses"))
    name = spec.get("priorityClassName", "")
    if not name:
        default = max(
            (found for found in classes if found.get("globalDefault")),
            key=lambda found: -int(found.get("value", 0)),
            default=None,
        )
        if default:
            spec["priorityClassName"] = name = default["metadata"]["name"]
    chosen = next((found for found in classes if found["metadata"]["name"] == name), {})
    if name and not chosen and name not in _SYSTEM_PRIORITIES:
        pod_name = pod["metadata"].get("name", "")
        raise Failure(
            403,
            "Forbidden",
            f'pods "{pod_name}" is forbidden: no PriorityClass with name {name} was found',
            kind="pods",
            name=pod_name,
        )
    spec["priority"] = chosen.get("value", _SYSTEM_PRIORITIES.get(name, 0))
    spec.setdefault("preemptionPolicy", chosen.get("preemptionPolicy", "PreemptLowerPriority"))


def update_ephemeral(pod: Json, old: Json) -> None:
    """Restore everything except the ephemeral containers."""
    added = pod["spec"].get("ephemeralContainers")
    meta = {**old["metadata"]}
    for field in ("managedFields", "resourceVersion"):
        if field in pod["metadata"]:
            meta[field] = pod["metadata"][field]
    pod.update(old, metadata=meta, spec={**old["spec"]})
    pod["spec"].pop("ephemeralContainers", None)
    if added:
        pod["spec"]["ephemeralContainers"] = added


def quality_of_service(spec: Json) -> str:
    """Return ``Guaranteed``, ``Burstable`` or ``BestEffort``, from all requests and limits."""
    if spec.get("resources"):
        parts = [spec["resources"]]
    else:
        containers = [*(spec.get("containers") or ()), *spec.get("initContainers", ())]
        parts = [container.get("resources", {}) for container in containers]
    requests = _sum(part.get("requests", {}) for part in parts)
    limits = _sum(part.get("limits", {}) for part in parts)
    if not requests and not limits:
        return "BestEffort"
    limited = all({"cpu", "memory"} <= _sum([part.get("limits", {})]).keys() for part in parts)
    return "Guaranteed" if limited and requests == limits else "Burstable"


def _sum(lists: Iterable[Json]) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for amounts in lists:
        for name in ("cpu", "memory"):
            amount = parse_quantity(amounts.get(name, "0")).amount
            if amount > 0:
                total[name] = total.get(name, Decimal(0)) + amount
    return total
