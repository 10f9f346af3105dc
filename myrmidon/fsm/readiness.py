"""When is an object ready?  One answer per kind, as ``kubectl rollout status`` and friends see it."""

from collections.abc import Callable, Mapping
from typing import Any

from myrmidon.api.conditions import READY, Condition
from myrmidon.api.objects import generation_of, is_deleting


def is_ready(obj: Mapping[str, Any] | None) -> bool:
    """Whether the object exists, stays, and has what its kind calls ready.

    Kinds without a notion of their own are ready when their condition ``Ready`` (or
    ``Available``) is True for the current generation, or, without any status, when they exist.
    """
    if obj is None or is_deleting(obj):
        return False
    asks = _BY_KIND.get((_group(obj), str(obj.get("kind"))), _by_condition)
    return asks(obj)


def _group(obj: Mapping[str, Any]) -> str:
    return str(obj.get("apiVersion") or "").rpartition("/")[0]


def _status(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    return obj.get("status") or {}


def _spec(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    return obj.get("spec") or {}


def _observed(obj: Mapping[str, Any]) -> bool:
    return int(_status(obj).get("observedGeneration") or 0) >= generation_of(obj)


def _condition(obj: Mapping[str, Any], *types: str) -> Condition | None:
    for raw in _status(obj).get("conditions") or ():
        condition = Condition.from_json(raw)
        if condition is not None and condition.type in types:
            return condition
    return None


def _by_condition(obj: Mapping[str, Any]) -> bool:
    condition = _condition(obj, READY) or _condition(obj, "Available")
    if condition is None:
        return not _status(obj)
    return condition.status == "True" and condition.observed_generation in (0, generation_of(obj))


def _deployment(obj: Mapping[str, Any]) -> bool:
    wanted = _spec(obj).get("replicas", 1)
    status = _status(obj)
    return (
        _observed(obj)
        and status.get("updatedReplicas", 0) >= wanted
        and status.get("replicas", 0) <= status.get("updatedReplicas", 0)
        and status.get("availableReplicas", 0) >= wanted
    )


def _stateful_set(obj: Mapping[str, Any]) -> bool:
    wanted = _spec(obj).get("replicas", 1)
    status = _status(obj)
    rolled = status.get("updateRevision") == status.get("currentRevision")
    return _observed(obj) and status.get("readyReplicas", 0) >= wanted and rolled


def _replica_set(obj: Mapping[str, Any]) -> bool:
    return _observed(obj) and _status(obj).get("availableReplicas", 0) >= _spec(obj).get(
        "replicas", 1
    )


def _daemon_set(obj: Mapping[str, Any]) -> bool:
    status = _status(obj)
    wanted = status.get("desiredNumberScheduled", 0)
    return (
        _observed(obj)
        and status.get("updatedNumberScheduled", 0) >= wanted
        and status.get("numberAvailable", 0) >= wanted
    )


def _job(obj: Mapping[str, Any]) -> bool:
    complete = _condition(obj, "Complete", "SuccessCriteriaMet")
    return complete is not None and complete.status == "True"


def _pod(obj: Mapping[str, Any]) -> bool:
    if _status(obj).get("phase") == "Succeeded":
        return True
    ready = _condition(obj, READY)
    return ready is not None and ready.status == "True"


def _service(obj: Mapping[str, Any]) -> bool:
    if _spec(obj).get("type") != "LoadBalancer":
        return True
    return bool((_status(obj).get("loadBalancer") or {}).get("ingress"))


def _crd(obj: Mapping[str, Any]) -> bool:
    established = _condition(obj, "Established")
    return established is not None and established.status == "True"


def _phase(*phases: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda obj: _status(obj).get("phase") in phases


def _exists(_obj: Mapping[str, Any]) -> bool:
    return True


_BY_KIND: Mapping[tuple[str, str], Callable[[Mapping[str, Any]], bool]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "ReplicaSet"): _replica_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _exists,
    ("", "Pod"): _pod,
    ("", "Service"): _service,
    ("", "Namespace"): _phase("Active"),
    ("", "PersistentVolumeClaim"): _phase("Bound"),
    ("", "PersistentVolume"): _phase("Available", "Bound"),
    ("networking.k8s.io", "Ingress"): _exists,
    ("policy", "PodDisruptionBudget"): _exists,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _crd,
}
