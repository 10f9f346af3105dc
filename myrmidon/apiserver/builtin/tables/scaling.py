"""Tables of HorizontalPodAutoscalers and PodDisruptionBudgets."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.conversion import autoscaler_to_v2
from myrmidon.apiserver.builtin.tables import cells


def _autoscaler(autoscaler: Json, now: datetime) -> list[Any]:
    if autoscaler.get("apiVersion") == "autoscaling/v1":
        autoscaler = autoscaler_to_v2(autoscaler)
    spec, status = autoscaler["spec"], autoscaler.get("status", {})
    target = spec.get("scaleTargetRef", {})
    return [
        cells.name(autoscaler),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        cells.some(_targets(spec, status), 2, separator=", ", empty=cells.NONE),
        str(spec["minReplicas"]) if "minReplicas" in spec else cells.UNSET,
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        cells.age(autoscaler, now),
    ]


def _targets(spec: Json, status: Json) -> Iterator[str]:
    reported = status.get("currentMetrics") or []
    for index, metric in enumerate(spec.get("metrics", ())):
        yield _target(metric, reported[index] if index < len(reported) else {})


def _target(metric: Json, reported: Json) -> str:
    kind = metric.get("type", "")
    field = kind[:1].lower() + kind[1:]
    target = metric.get(field, {}).get("target", {})
    current = reported.get(field, {}).get("current", {})
    named = f"{metric.get(field, {}).get('name', '')}: " if kind.endswith("Resource") else ""
    if "averageValue" in target:
        suffix = " (avg)" if kind in ("External", "Object") else ""
        value = current.get("averageValue", "<unknown>")
        return f"{named}{value}/{target['averageValue']}{suffix}"
    if named:
        now = current.get("averageUtilization")
        goal = target.get("averageUtilization")
        shown = f"{now}%" if now is not None else "<unknown>"
        return f"{named}{shown}/{f'{goal}%' if goal is not None else '<auto>'}"
    return f"{current.get('value', '<unknown>')}/{target.get('value', '')}"


def _budget(budget: Json, now: datetime) -> list[Any]:
    spec = budget["spec"]
    return [
        cells.name(budget),
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        budget.get("status", {}).get("disruptionsAllowed", 0),
        cells.age(budget, now),
    ]


PRINTERS = {
    "HorizontalPodAutoscaler": _autoscaler,
    "PodDisruptionBudget": _budget,
}
