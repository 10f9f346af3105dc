"""Defaults of HorizontalPodAutoscalers."""

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.defaults.completions import Completion, fill


def _autoscaler_v2_spec(spec: Json) -> None:
    target = {"type": "Utilization", "averageUtilization": 80}
    fill(
        minReplicas=1,
        metrics=[{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
    )(spec)
    behavior = spec.get("behavior")
    if behavior is not None:
        fill(
            stabilizationWindowSeconds=0,
            selectPolicy="Max",
            policies=[
                {"type": "Pods", "value": 4, "periodSeconds": 15},
                {"type": "Percent", "value": 100, "periodSeconds": 15},
            ],
        )(behavior.setdefault("scaleUp", {}))
        fill(
            selectPolicy="Max",
            policies=[{"type": "Percent", "value": 100, "periodSeconds": 15}],
        )(behavior.setdefault("scaleDown", {}))


def _autoscaler_v1(autoscaler: Json) -> None:
    if "autoscaling.alpha.kubernetes.io/metrics" not in autoscaler["metadata"].get(
        "annotations", {}
    ):
        fill(targetCPUUtilizationPercentage=80)(autoscaler["spec"])


SCALING: dict[str, Completion] = {
    "api.autoscaling.v1.HorizontalPodAutoscaler": _autoscaler_v1,
    "api.autoscaling.v1.HorizontalPodAutoscalerSpec": fill(minReplicas=1),
    "api.autoscaling.v2.HorizontalPodAutoscalerSpec": _autoscaler_v2_spec,
}
