"""Readiness: whether an object of any kind is ready, by the rule for its kind.

There are three groups of kinds:

1. Kinds with their own rule, below: workloads, storage, Services, CRDs, the Gateway API.  The rules
   follow ``kubectl rollout status``, ``kubectl wait`` and kstatus.
2. The other kinds of the API server itself, such as ConfigMap and Role.  Most of them report no
   readiness, so they are ready when they exist; a condition ``Ready`` or ``Available`` counts if
   there is one.
3. Custom kinds.  An object is ready when its condition ``Ready`` or ``Available`` is True for its
   current generation; without such a condition it is not ready.

A custom kind that never reports these conditions would never be ready.  ``Controller.readiness``
sets another rule, for any kind::

    class Monitors(Controller[Monitor]):
        manages = (SERVICE_MONITOR, TASK_RUN)
        readiness = {SERVICE_MONITOR: exists, TASK_RUN: has_condition("Succeeded")}

The status of an object was written by another program and can have any content.  A field that does
not have the type that its kind defines counts as absent; it never raises.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.conditions import READY, Condition

ReadinessRule: TypeAlias = Callable[[Json], bool]
"""A function that says whether an object is ready; called only if it exists and is not being
deleted."""
ReadinessRules: TypeAlias = Mapping[tuple[str, str], ReadinessRule]
"""Rules by group and kind."""

_Obj: TypeAlias = Mapping[str, Any]
_NOTHING: Json = {}


def is_ready(obj: Json | None, rules: ReadinessRules | None = None) -> bool:
    """Whether the object exists, is not being deleted, and is ready by the rule for its kind.

    ``rules``, from ``Controller.readiness``, take precedence over those of this module.
    """
    if not obj or not obj.get("kind") or _part(obj, "metadata").get("deletionTimestamp"):
        return False
    group, kind = str(obj.get("apiVersion") or "").rpartition("/")[0], str(obj["kind"])
    rule = rules.get((group, kind)) if rules else None
    if rule is None:
        default = _without_report if group in _SERVER_GROUPS else _reported
        rule = _BY_KIND.get((group, kind), default)
    return bool(rule(obj))


def is_silent(obj: Json) -> bool:
    """Whether the object is of a custom kind and has neither a condition Ready nor Available.

    Either its controller has not handled it yet, or its kind never reports one.
    """
    group, kind = str(obj.get("apiVersion") or "").rpartition("/")[0], str(obj.get("kind"))
    if group in _SERVER_GROUPS or (group, kind) in _BY_KIND:
        return False
    return _condition(_part(obj, "status"), READY, "Available") is None


def exists(_obj: Json) -> bool:
    """Count an object as ready as soon as it exists; for kinds that report no conditions."""
    return True


def has_condition(condition_type: str) -> ReadinessRule:
    """Return the rule "ready when this condition is True for the current generation"."""

    def rule(obj: Json) -> bool:
        return _holds(obj, condition_type)

    return rule


# ------------------------------------------------------------------------- reading a status


def _part(obj: _Obj, name: str) -> Mapping[str, Any]:
    part = obj.get(name)
    return part if isinstance(part, dict) else _NOTHING


def _number(part: Mapping[str, Any], name: str, default: int = 0) -> int:
    value = part.get(name)
    return value if type(value) is int else default


def _generation(obj: _Obj) -> int:
    return _number(_part(obj, "metadata"), "generation")


def _replicas(obj: _Obj) -> int:
    return _number(_part(obj, "spec"), "replicas", 1)


def _observed(obj: _Obj) -> bool:
    """Whether ``status.observedGeneration`` is the current generation."""
    return _number(_part(obj, "status"), "observedGeneration") >= _generation(obj)


def _condition(part: Mapping[str, Any], *types: str) -> Condition | None:
    """Return the condition of the first of these types that is present; None if none is."""
    conditions = part.get("conditions")
    if not isinstance(conditions, list):
        return None
    for wanted in types:
        for raw in conditions:
            if isinstance(raw, dict) and raw.get("type") == wanted:
                return Condition.from_json(raw)
    return None


def _is_true(part: Mapping[str, Any], *types: str) -> bool:
    condition = _condition(part, *types)
    return condition is not None and condition.status == "True"


def _is_current(obj: _Obj, condition: Condition) -> bool:
    """Whether the condition is about the current generation.

    A kind may report ``observedGeneration`` on the condition, on the status, on both or not at all;
    where it is reported, it must be the current one.
    """
    said = condition.observed_generation, _number(_part(obj, "status"), "observedGeneration")
    return all(one in (0, _generation(obj)) for one in said)


def _holds(obj: _Obj, *types: str) -> bool:
    condition = _condition(_part(obj, "status"), *types)
    return condition is not None and condition.status == "True" and _is_current(obj, condition)


# ------------------------------------------------------------------------------ the rules


def _reported(obj: _Obj) -> bool:
    """Whether an object of a custom kind is ready.

    ``Stalled`` and ``Reconciling`` are the conditions that kstatus reserves for "not ready".
    """
    status = _part(obj, "status")
    if _is_true(status, "Stalled") or _is_true(status, "Reconciling"):
        return False
    return _holds(obj, READY, "Available")


def _without_report(obj: _Obj) -> bool:
    """Whether an object of the API server's own kinds is ready, if its kind has no rule below."""
    status = _part(obj, "status")
    if "observedGeneration" in status and not _observed(obj):
        return False
    return _condition(status, READY, "Available") is None or _holds(obj, READY, "Available")


def _deployment(obj: _Obj) -> bool:
    wanted, status = _replicas(obj), _part(obj, "status")
    updated = _number(status, "updatedReplicas")
    return (
        _observed(obj)
        and updated >= wanted
        and _number(status, "replicas") <= updated
        and _number(status, "availableReplicas") >= wanted
    )


def _stateful_set(obj: _Obj) -> bool:
    """Whether all replicas are ready, and as many updated as the update strategy replaces."""
    wanted, status = _replicas(obj), _part(obj, "status")
    if not _observed(obj) or _number(status, "readyReplicas") < wanted:
        return False
    strategy = _part(_part(obj, "spec"), "updateStrategy")
    if strategy.get("type") == "OnDelete":
        return True  # pods are replaced only when a user deletes them
    partition = _number(_part(strategy, "rollingUpdate"), "partition")
    if partition > 0:
        return _number(status, "updatedReplicas") >= wanted - partition
    return bool(status.get("updateRevision") == status.get("currentRevision"))


def _replica_set(obj: _Obj) -> bool:
    available = _number(_part(obj, "status"), "availableReplicas")
    return _observed(obj) and available >= _replicas(obj)


def _daemon_set(obj: _Obj) -> bool:
    """Whether the pods of all nodes are available and updated.

    A missing ``desiredNumberScheduled`` means that the nodes have not been counted yet, not 0.
    """
    status = _part(obj, "status")
    wanted = _number(status, "desiredNumberScheduled", -1)
    if wanted < 0 or not _observed(obj) or _number(status, "numberAvailable") < wanted:
        return False
    strategy = _part(_part(obj, "spec"), "updateStrategy")
    by_hand = strategy.get("type") == "OnDelete"
    return by_hand or _number(status, "updatedNumberScheduled") >= wanted


def _job(obj: _Obj) -> bool:
    status = _part(obj, "status")
    return _is_true(status, "Complete") or _is_true(status, "SuccessCriteriaMet")


def _pod(obj: _Obj) -> bool:
    status = _part(obj, "status")
    return status.get("phase") == "Succeeded" or _is_true(status, READY)


def _service(obj: _Obj) -> bool:
    if _part(obj, "spec").get("type") != "LoadBalancer":
        return True
    return bool(_part(_part(obj, "status"), "loadBalancer").get("ingress"))


def _route(obj: _Obj) -> bool:
    """Whether each parent of a Gateway API route has accepted its current generation."""
    parents = _part(obj, "status").get("parents")
    if not isinstance(parents, list) or not parents:
        return False
    accepted = (
        _condition(parent, "Accepted") if isinstance(parent, dict) else None for parent in parents
    )
    return all(one and one.status == "True" and _is_current(obj, one) for one in accepted)


def _phase(*phases: str) -> ReadinessRule:
    return lambda obj: _part(obj, "status").get("phase") in phases


_GATEWAY = "gateway.networking.k8s.io"
_BY_KIND: ReadinessRules = {
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "ReplicaSet"): _replica_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("", "Pod"): _pod,
    ("", "ReplicationController"): _replica_set,
    ("", "Service"): _service,
    ("", "Namespace"): _phase("Active"),
    ("", "PersistentVolumeClaim"): _phase("Bound"),
    ("", "PersistentVolume"): _phase("Available", "Bound"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): has_condition("Established"),
    ("apiregistration.k8s.io", "APIService"): has_condition("Available"),
    (_GATEWAY, "GatewayClass"): has_condition("Accepted"),
    (_GATEWAY, "Gateway"): has_condition("Programmed"),
    **{
        (_GATEWAY, kind): _route
        for kind in ("HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute")
    },
    (_GATEWAY, "ReferenceGrant"): exists,
}
_SERVER_GROUPS = frozenset(
    {
        "", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps",
        "authentication.k8s.io", "authorization.k8s.io", "autoscaling", "batch",
        "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
        "flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io",
        "node.k8s.io", "policy", "rbac.authorization.k8s.io", "resource.k8s.io",
        "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
    }
)  # fmt: skip
"""The groups that the API server itself serves.  They cannot be told by the suffix ``k8s.io``: the
Gateway API has it, too, and its kinds are custom."""
