"""Validation of HorizontalPodAutoscalers."""

from collections.abc import Iterator

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.quantities import parse_quantity
from myrmidon.apiserver.builtin.validation.common import choice
from myrmidon.apiserver.refusals.causes import forbidden, invalid, not_supported, required
from myrmidon.apiserver.refusals.failures import StatusCause

_PERIOD_SECONDS_MAX = 1800
_METRICS = {
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
    "External": "external",
    "ContainerResource": "containerResource",
}


def check_autoscaler(autoscaler: Json) -> Iterator[StatusCause]:
    """Check a HorizontalPodAutoscaler of either version."""
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
    yield from _check_target(spec["scaleTargetRef"])
    for direction in ("scaleUp", "scaleDown"):
        rules = spec.get("behavior", {}).get(direction, {})
        yield from _check_scaling(f"spec.behavior.{direction}", rules)
    metrics = spec.get("metrics", [])
    for index, metric in enumerate(metrics):
        yield from _check_metric(f"spec.metrics[{index}]", metric)
    if low == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        yield forbidden(
            "spec.metrics",
            "must specify at least one Object or External metric to support scaling to zero replicas",
        )


def _check_target(target: Json) -> Iterator[StatusCause]:
    for name in ("kind", "name"):
        if not target.get(name):
            yield required(f"spec.scaleTargetRef.{name}")
    if "/" not in target.get("apiVersion", "") and target.get("kind") != "ReplicationController":
        yield invalid(
            "spec.scaleTargetRef.apiVersion",
            target.get("apiVersion", ""),
            "apiVersion must specify API group",
        )


def _check_scaling(field: str, rules: Json) -> Iterator[StatusCause]:
    window = rules.get("stabilizationWindowSeconds")
    if window is not None and window < 0:
        yield invalid(
            f"{field}.stabilizationWindowSeconds", window, "must be greater than or equal to zero"
        )
    yield from choice(
        f"{field}.selectPolicy", rules.get("selectPolicy"), ("Disabled", "Max", "Min")
    )
    for index, policy in enumerate(rules.get("policies", ())):
        at = f"{field}.policies[{index}]"
        yield from choice(f"{at}.type", policy.get("type", ""), ("Percent", "Pods"))
        for name in ("value", "periodSeconds"):
            if policy.get(name, 0) <= 0:
                yield invalid(f"{at}.{name}", policy.get(name, 0), "must be greater than zero")
        if policy.get("periodSeconds", 0) > _PERIOD_SECONDS_MAX:
            yield invalid(
                f"{at}.periodSeconds",
                policy["periodSeconds"],
                f"must be less than or equal to {_PERIOD_SECONDS_MAX}",
            )


def _check_metric(field: str, metric: Json) -> Iterator[StatusCause]:
    kind = metric.get("type", "")
    if not kind:
        yield required(f"{field}.type", "must specify a metric source type")
    if kind not in _METRICS:
        # The real server reports this twice: for the unknown type, and for the missing source.
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


def _check_resource_metric(field: str, source: Json) -> Iterator[StatusCause]:
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
    for name in ("value", "averageValue"):
        if name in target and parse_quantity(target[name]).amount <= 0:
            yield invalid(f"{field}.target.{name}", target[name], "must be positive")
    if target.get("averageUtilization", 1) < 1:
        yield invalid(
            f"{field}.target.averageUtilization",
            target["averageUtilization"],
            "must be greater than 0",
        )
