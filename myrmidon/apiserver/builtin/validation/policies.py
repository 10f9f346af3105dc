"""Scaling, disruption, quota, priority, nodes."""

from collections.abc import Iterator

from myrmidon.api.objects import Json
from myrmidon.apiserver.builtin.quantities import parse_quantity
from myrmidon.apiserver.builtin.validation.common import (
    at_most_all,
    int_or_percent,
    label_selector,
    one_of,
    qualified,
    unchanged,
)
from myrmidon.apiserver.causes import forbidden, invalid, not_supported, required
from myrmidon.apiserver.failures import Cause

_HIGHEST_USER_PRIORITY = 1_000_000_000
_METRICS = {
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
    "External": "external",
    "ContainerResource": "containerResource",
}
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def check_autoscaler(autoscaler: Json) -> Iterator[Cause]:
    """Rules for a HorizontalPodAutoscaler, of either version."""
    spec = autoscaler["spec"]
    low, high = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    if low is not None and low < 1:
        yield invalid("spec.minReplicas", low, "must be greater than or equal to 1")
    if high == 0:
        yield required("spec.maxReplicas", "must be set and greater than 0")
    elif high < 0:
        yield invalid("spec.maxReplicas", high, "must be greater than or equal to 1")
    if low is not None and high < low:
        yield invalid("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`")
    target = spec["scaleTargetRef"]
    for name in ("kind", "name"):
        if not target.get(name):
            yield required(f"spec.scaleTargetRef.{name}")
    if "/" not in target.get("apiVersion", "") and target.get("kind") != "ReplicationController":
        yield invalid(
            "spec.scaleTargetRef.apiVersion",
            target.get("apiVersion", ""),
            "apiVersion must specify API group",
        )
    metrics = spec.get("metrics", [])
    for index, metric in enumerate(metrics):
        yield from _check_metric(f"spec.metrics[{index}]", metric)
    if low == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        yield forbidden(
            "spec.metrics",
            "must specify at least one Object or External metric to support scaling to zero replicas",
        )


def _check_metric(field: str, metric: Json) -> Iterator[Cause]:
    kind = metric.get("type", "")
    if not kind:
        yield required(f"{field}.type", "must specify a metric source type")
    if kind not in _METRICS:
        # Twice: once for the list of types, once for having nowhere to look.
        yield not_supported(f"{field}.type", kind, sorted(_METRICS))
        yield not_supported(f"{field}.type", kind, sorted(_METRICS))
    given = [name for name in _METRICS.values() if name in metric]
    expected = _METRICS.get(kind, "")
    if given and given[0] in ("resource", "containerResource"):
        yield from _check_resource_metric(f"{field}.{given[0]}", metric[given[0]])
    if expected and expected not in given:
        yield required(
            f"{field}.{expected}", "must populate information for the given metric source"
        )
    if len(given) > 1:
        for name in given:
            if name != expected:
                yield forbidden(f"{field}.{name}", "must populate the given metric source only")


def _check_resource_metric(field: str, source: Json) -> Iterator[Cause]:
    if not source.get("name"):
        yield required(f"{field}.name", "must specify a resource name")
    target = source.get("target", {})
    if not target.get("type"):
        yield required(f"{field}.target.type", "must specify a metric target type")
    if target.get("type") not in ("Utilization", "Value", "AverageValue"):
        yield invalid(
            f"{field}.target.type",
            target.get("type", ""),
            "must be either Utilization, Value, or AverageValue",
        )
    if "averageUtilization" not in target and "averageValue" not in target:
        yield required(
            f"{field}.target.averageUtilization",
            "must set either a target raw value or a target utilization",
        )
    if target.get("averageUtilization", 1) < 1:
        yield invalid(
            f"{field}.target.averageUtilization",
            target["averageUtilization"],
            "must be greater than 0",
        )


def check_disruption_budget(budget: Json) -> Iterator[Cause]:
    """Rules for a PodDisruptionBudget."""
    spec = budget["spec"]
    if "minAvailable" in spec and "maxUnavailable" in spec:
        yield invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set")
    for name in ("minAvailable", "maxUnavailable"):
        yield from int_or_percent(f"spec.{name}", spec.get(name))
        yield from at_most_all(f"spec.{name}", spec.get(name))
    yield from label_selector("spec.selector", spec.get("selector", {}))
    if "unhealthyPodEvictionPolicy" in spec:
        yield from one_of(
            "spec.unhealthyPodEvictionPolicy",
            spec["unhealthyPodEvictionPolicy"],
            ("AlwaysAllow", "IfHealthyBudget"),
        )


def check_priority_class(priority: Json) -> Iterator[Cause]:
    """Rules for a PriorityClass."""
    name, value = priority["metadata"].get("name", ""), priority.get("value", 0)
    if name.startswith("system-"):
        if name not in ("system-cluster-critical", "system-node-critical"):
            yield forbidden(
                "metadata.name",
                "priority class names with 'system-' prefix are reserved for system use only. "
                "error: system- prefix is reserved",
            )
    elif value > _HIGHEST_USER_PRIORITY:
        yield forbidden(
            "value",
            f"maximum allowed value of a user defined priority is {_HIGHEST_USER_PRIORITY}",
        )
    if priority.get("preemptionPolicy"):
        yield from one_of(
            "preemptionPolicy", priority["preemptionPolicy"], ("Never", "PreemptLowerPriority")
        )


def check_priority_class_change(new: Json, old: Json) -> Iterator[Cause]:
    """The value of a class is decided once."""
    if new.get("value", 0) != old.get("value", 0):
        yield forbidden("value", "may not be changed in an update.")
    yield from unchanged(
        "preemptionPolicy", new.get("preemptionPolicy"), old.get("preemptionPolicy")
    )


def check_quota(quota: Json) -> Iterator[Cause]:
    """Rules for a ResourceQuota."""
    for name, amount in sorted(quota["spec"].get("hard", {}).items()):
        yield from qualified("spec.hard", name)
        if parse_quantity(amount).amount < 0:
            yield invalid(f"spec.hard[{name}]", amount, "must be greater than or equal to 0")


def check_limit_range(limit_range: Json) -> Iterator[Cause]:
    """Rules for a LimitRange."""
    seen: set[str] = set()
    for index, item in enumerate(limit_range["spec"].get("limits") or ()):
        field, kind = f"spec.limits[{index}]", item.get("type", "")
        yield from qualified(f"{field}.type", kind)
        if kind in seen:
            yield Cause(f"{field}.type", "FieldValueDuplicate", f'Duplicate value: "{kind}"')
        seen.add(kind)
        for name, amount in sorted(item.get("min", {}).items()):
            limit = item.get("max", {}).get(name)
            if limit is not None and parse_quantity(amount).amount > parse_quantity(limit).amount:
                yield invalid(
                    f"{field}.min[{name}]",
                    amount,
                    f"min value {amount} is greater than max value {limit}",
                )


def check_node(node: Json) -> Iterator[Cause]:
    """Rules for a Node."""
    for index, taint in enumerate(node["spec"].get("taints", ())):
        field = f"spec.taints[{index}]"
        yield from qualified(f"{field}.key", taint.get("key", ""))
        yield from one_of(f"{field}.effect", taint.get("effect"), _EFFECTS)
