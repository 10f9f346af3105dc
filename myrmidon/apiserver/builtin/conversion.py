"""Conversion of kinds that are served in two forms from one store: events and autoscalers.

An Event of ``events.k8s.io`` is an Event of the core group with other field names.  A
HorizontalPodAutoscaler of v1 is one of v2 whose CPU target is a number, and whose other metrics,
behavior and conditions are in annotations.
"""

import json
from typing import Any

from myrmidon.api.objects.accessors import Json

_EVENT_NAMES = {  # name in the core group: name in events.k8s.io
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_CORE_NAMES = {new: core for core, new in _EVENT_NAMES.items()}
# The fields that are written, or omitted, if they are empty; the groups differ in this.
_CORE_ALWAYS: Json = {"reportingComponent": "", "reportingInstance": "", "involvedObject": {}}
_NEW_OMITS = ("note", "reportingController", "reportingInstance", "deprecatedCount")


def event_to_core(event: Json) -> Json:
    """Convert an Event of ``events.k8s.io/v1`` to the core group."""
    renamed = {_CORE_NAMES.get(key, key): value for key, value in event.items()}
    return _CORE_ALWAYS | renamed | {"apiVersion": "v1"}


def event_from_core(event: Json) -> Json:
    """Convert an Event of the core group to ``events.k8s.io/v1``."""
    renamed = {_EVENT_NAMES.get(key, key): value for key, value in event.items()}
    for key in _NEW_OMITS:
        if not renamed.get(key):
            renamed.pop(key, None)
    if not renamed.get("regarding"):
        renamed["regarding"] = {}
    return renamed | {"apiVersion": "events.k8s.io/v1"}


_METRICS = "autoscaling.alpha.kubernetes.io/metrics"
_CURRENT = "autoscaling.alpha.kubernetes.io/current-metrics"
_CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"
_BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"
_DEFAULT_UTILIZATION = 80


def autoscaler_to_v2(autoscaler: Json) -> Json:
    """Convert an autoscaler from v1 to v2, with the metrics and behavior from its annotations."""
    meta, spec = dict(autoscaler["metadata"]), dict(autoscaler["spec"])
    annotations = dict(meta.pop("annotations", {}))
    folded = {key: annotations.pop(key, None) for key in (_METRICS, _BEHAVIOR, _CONDITIONS)}
    current = annotations.pop(_CURRENT, None)
    if annotations:
        meta["annotations"] = annotations
    utilization = spec.pop("targetCPUUtilizationPercentage", None)
    metrics = _parsed(folded[_METRICS]) or []
    if utilization is not None or not metrics:
        metrics.append(_cpu_metric(utilization or _DEFAULT_UTILIZATION))
    spec["metrics"] = metrics
    behavior = _parsed(folded[_BEHAVIOR])
    if behavior:
        spec["behavior"] = behavior
    status = dict(autoscaler.get("status", {}))
    status.pop("currentCPUUtilizationPercentage", None)
    status.setdefault("desiredReplicas", 0)
    status["currentMetrics"] = _parsed(current)
    conditions = _parsed(folded[_CONDITIONS])
    if conditions:
        status["conditions"] = conditions
    return autoscaler | {
        "apiVersion": "autoscaling/v2", "metadata": meta, "spec": spec, "status": status
    }  # fmt: skip


def autoscaler_from_v2(autoscaler: Json) -> Json:
    """Convert an autoscaler from v2 to v1; fields that v1 does not have become annotations."""
    meta, spec = dict(autoscaler["metadata"]), dict(autoscaler["spec"])
    status = dict(autoscaler.get("status", {}))
    annotations = dict(meta.get("annotations", {}))
    metrics = spec.pop("metrics", [])
    utilizations = [_utilization(metric) for metric in metrics]
    first = next((number for number in utilizations if number is not None), None)
    if first is not None:
        spec["targetCPUUtilizationPercentage"] = first
    others = [m for m, number in zip(metrics, utilizations, strict=True) if number is None]
    for key, value in (
        (_METRICS, others),
        (_BEHAVIOR, spec.pop("behavior", None)),
        (_CURRENT, status.pop("currentMetrics", None)),
        (_CONDITIONS, status.pop("conditions", None)),
    ):
        if value:
            annotations[key] = json.dumps(value, separators=(",", ":"))
    if annotations:
        meta["annotations"] = annotations
    status.setdefault("currentReplicas", 0)
    return autoscaler | {
        "apiVersion": "autoscaling/v1", "metadata": meta, "spec": spec, "status": status
    }  # fmt: skip


def _cpu_metric(utilization: int) -> Json:
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _utilization(metric: Json) -> int | None:
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    found: int | None = resource.get("target", {}).get("averageUtilization")
    return found


def _parsed(text: str | None) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None
