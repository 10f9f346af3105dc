"""What one object uses of a ResourceQuota.

A quota limits amounts by name.  Each name belongs to one resource (``resource_of``): ``requests.cpu``
and ``pods`` to Pods, ``services.nodeports`` to Services, ``count/widgets.example.com`` to widgets.
``usage`` returns what an object uses of all names of its resource.  A Pod that has ended uses
nothing but its place in ``count/pods``.

A quota may have scopes, for example only pods of a PriorityClass.  Only Pods (and claims, with one
scope) have scopes, so a quota with a scope never counts other objects.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.timestamps import read_time
from myrmidon.apiserver.builtin.preparing.pods import quality_of_service
from myrmidon.apiserver.builtin.quotas.amounts import Amounts
from myrmidon.apiserver.builtin.quotas.pod_resources import (
    amounts_of,
    containers_of,
    pod_resources,
)
from myrmidon.apiserver.builtin.validation.common import selects

PODS, SERVICES, CLAIMS = "pods", "services", "persistentvolumeclaims"
_COUNT = "count/"
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_EXPLICIT = ("cpu", "memory")  # each container must state these if a quota limits them
_HUGE_PAGES = "hugepages-"
_CLASS = ".storageclass.storage.k8s.io/"
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_RESOURCES = {
    **dict.fromkeys(("services.nodeports", "services.loadbalancers"), SERVICES),
    **{f"{prefix}{name}": PODS for prefix in ("", "requests.", "limits.") for name in _COMPUTE},
    "requests.storage": CLAIMS,
    **{
        name: name
        for name in (
            PODS, SERVICES, CLAIMS, "configmaps", "secrets", "replicationcontrollers", "resourcequotas",
        )
    },
}  # fmt: skip
UNCOUNTED = frozenset({"events", "events.events.k8s.io", "bindings", "namespaces"})
"""Resources that no quota counts."""


def resource_of(name: str) -> str:
    """Return the resource that a name in ``spec.hard`` limits, or ``""`` if it is not known."""
    if name.startswith(_COUNT):
        return name.removeprefix(_COUNT)
    if name in _RESOURCES:
        return _RESOURCES[name]
    if name.removeprefix("requests.").startswith(_HUGE_PAGES):
        return PODS
    if _CLASS in name and name.endswith(("/requests.storage", "/persistentvolumeclaims")):
        return CLAIMS
    extended = name.startswith("requests.") and "/" in name and "kubernetes.io/" not in name
    return PODS if extended else ""


def names_for(resource: str, names: Iterable[str]) -> list[str]:
    """Return those of the names that limit a resource, in order."""
    return sorted(name for name in names if resource_of(name) == resource)


def usage(resource: str, obj: Json, now: datetime) -> dict[str, str]:
    """Return what an object uses, by the names that a quota may limit."""
    used = {f"{_COUNT}{resource}": "1"}
    if resource == PODS:
        return used | (_pod_usage(obj) if _is_charged(obj, now) else {})
    if _RESOURCES.get(resource) == resource:
        used[resource] = "1"
    if resource == SERVICES:
        used |= _service_usage(obj["spec"])
    elif resource == CLAIMS:
        used |= _claim_usage(obj)
    return used


def _is_charged(pod: Json, now: datetime) -> bool:
    """Whether a pod still uses resources: not if it has ended, or should have ended long ago."""
    if (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
        return False
    meta = pod["metadata"]
    seconds = meta.get("deletionGracePeriodSeconds")
    if meta.get("deletionTimestamp") is None or seconds is None:
        return True
    return now <= read_time(meta["deletionTimestamp"]) + timedelta(seconds=seconds)


def _pod_usage(pod: Json) -> dict[str, str]:
    return _compute(pod_resources(pod, "requests"), pod_resources(pod, "limits"))


def _compute(requests: Amounts, limits: Amounts) -> dict[str, str]:
    used = {PODS: "1"}
    for name, amount in requests.items():
        if name in _COMPUTE or name.startswith(_HUGE_PAGES):
            used[name] = used[f"requests.{name}"] = amount
        elif "/" in name and "kubernetes.io/" not in name:
            used[f"requests.{name}"] = amount
    return used | {f"limits.{name}": limits[name] for name in _COMPUTE if name in limits}


def _service_usage(spec: Json) -> dict[str, str]:
    kind, ports = spec.get("type"), spec.get("ports") or ()
    balanced = kind == "LoadBalancer"
    if balanced and spec.get("allocateLoadBalancerNodePorts") is False:
        ports = [port for port in ports if port.get("nodePort")]
    elif kind not in ("NodePort", "LoadBalancer"):
        ports = ()
    return {"services.nodeports": str(len(ports)), "services.loadbalancers": str(int(balanced))}


def _claim_usage(claim: Json) -> dict[str, str]:
    annotations = claim["metadata"].get("annotations") or {}
    name = annotations.get(_CLASS_ANNOTATION) or claim["spec"].get("storageClassName")
    used = {f"{name}{_CLASS}{CLAIMS}": "1"} if name else {}
    storage = amounts_of(claim["spec"], "requests").get("storage")
    if storage is not None:
        used["requests.storage"] = storage
        if name:
            used[f"{name}{_CLASS}requests.storage"] = storage
    return used


def unspecified(resource: str, obj: Json, names: Iterable[str]) -> str:
    """Return which containers do not state an amount that a quota limits, or ``""``."""
    if resource != PODS:
        return ""
    limited = {
        name
        for name in names
        if name.removeprefix("requests.").removeprefix("limits.") in _EXPLICIT
    }
    missing: dict[str, set[str]] = {}
    whole = _compute(amounts_of(obj["spec"], "requests"), amounts_of(obj["spec"], "limits"))
    for _, container in containers_of(obj):
        stated = _compute(amounts_of(container, "requests"), amounts_of(container, "limits"))
        for name in limited - stated.keys() - whole.keys():
            missing.setdefault(name, set()).add(container.get("name", ""))
    texts = (f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))
    return f"must specify {'; '.join(texts)}" if missing else ""


# ------------------------------------------------------------------------------- scopes


def is_in_scope(resource: str, quota: Json, obj: Json) -> bool:
    """Whether an object is in all scopes of a quota."""
    spec = quota.get("spec") or {}
    scopes = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    selected = (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    known = _SCOPES.get(resource, {})
    return all(
        scope["scopeName"] in known and known[scope["scopeName"]](obj, scope)
        for scope in (*scopes, *selected)
    )


def _is_terminating(pod: Json, scope: Json) -> bool:
    del scope
    return bool(pod["spec"].get("activeDeadlineSeconds", -1) >= 0)


def _is_best_effort(pod: Json, scope: Json) -> bool:
    del scope
    return quality_of_service(pod["spec"]) == "BestEffort"


def _crosses_namespaces(pod: Json, scope: Json) -> bool:
    del scope
    affinity = pod["spec"].get("affinity") or {}
    for part in ("podAffinity", "podAntiAffinity"):
        rules: Mapping[str, Any] = affinity.get(part) or {}
        required = rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        preferred = rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        for term in (*required, *(each["podAffinityTerm"] for each in preferred)):
            if term.get("namespaces") or term.get("namespaceSelector") is not None:
                return True
    return False


def _named(field: str) -> Callable[[Json, Json], bool]:
    """Return whether the name in a field of the spec is one that the scope selects."""

    def matches(obj: Json, scope: Json) -> bool:
        name, value = scope["scopeName"], obj["spec"].get(field)
        expression = {
            "key": name,
            "operator": scope.get("operator"),
            "values": scope.get("values") or [],
        }
        return selects({"matchExpressions": [expression]}, {name: value} if value else {})

    return matches


_SCOPES: Mapping[str, Mapping[str, Callable[[Json, Json], bool]]] = {
    PODS: {
        "Terminating": _is_terminating,
        "NotTerminating": lambda pod, scope: not _is_terminating(pod, scope),
        "BestEffort": _is_best_effort,
        "NotBestEffort": lambda pod, scope: not _is_best_effort(pod, scope),
        "PriorityClass": _named("priorityClassName"),
        "CrossNamespacePodAffinity": _crosses_namespaces,
    },
    CLAIMS: {"VolumeAttributesClass": _named("volumeAttributesClassName")},
}
