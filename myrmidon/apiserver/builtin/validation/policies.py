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
from myrmidon.apiserver.causes import forbidden, invalid, required
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
    if high < 1:
        yield invalid("spec.maxReplicas", high, "must be greater than 0")
    if low is not None and high < low:
        yield invalid("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`")
    target = spec["scaleTargetRef"]
    for name in ("kind", "name"):
        if not target.get(name):
            yield required(f"spec.scaleTargetRef.{name}")
    for index, metric in enumerate(spec.get("metrics", ())):
        yield from _check_metric(f"spec.metrics[{index}]", metric)


def _check_metric(field: str, metric: Json) -> Iterator[Cause]:
    kind = metric.get("type", "")
    if not kind:
        yield required(f"{field}.type", "must specify a metric source type")
        return
    yield from one_of(f"{field}.type", kind, sorted(_METRICS))
    for name in _METRICS.values():
        if name in metric and name != _METRICS.get(kind):
            yield (
                forbidden(f"{field}.{name}", "must specify no more than one metric source")
                if (_METRICS.get(kind) in metric)
                else invalid(f"{field}.type", kind, "must match the metric source")
            )
    source = metric.get(_METRICS.get(kind, ""))
    if kind in _METRICS and source is None:
        yield required(
            f"{field}.{_METRICS[kind]}", "must populate information for the given metric source"
        )
    elif source is not None and kind in ("Resource", "ContainerResource"):
        if not source.get("name"):
            yield required(f"{field}.{_METRICS[kind]}.name", "must specify a resource name")
        if not source.get("target", {}).get("type"):
            yield required(
                f"{field}.{_METRICS[kind]}.target.type", "must specify a metric target type"
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
