"""When an object of each kind is ready."""

from typing import Any

import pytest
from hypothesis import given

from myrmidon.api.objects import Json
from myrmidon.fsm.readiness import is_ready
from tests.strategies import documents

APPS = "apps/v1"


def condition(kind: str, status: str = "True", **more: Any) -> Json:
    """A status with one condition."""
    return {"conditions": ["odd", {"type": kind, "status": status, **more}]}


READY: list[tuple[str, str, Any, Any]] = [
    (APPS, "Deployment", {"replicas": 2},
     {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}),
    (APPS, "Deployment", {"replicas": 0}, {"observedGeneration": 1}),
    (APPS, "StatefulSet", {},
     {"observedGeneration": 1, "readyReplicas": 1, "updateRevision": "a", "currentRevision": "a"}),
    (APPS, "ReplicaSet", {"replicas": 1}, {"observedGeneration": 2, "availableReplicas": 1}),
    (APPS, "DaemonSet", {}, {"observedGeneration": 1, "desiredNumberScheduled": 1,
                             "updatedNumberScheduled": 1, "numberAvailable": 1}),
    ("batch/v1", "Job", {}, condition("Complete")),
    ("batch/v1", "Job", {}, condition("SuccessCriteriaMet")),
    ("batch/v1", "CronJob", {}, None),
    ("v1", "Pod", {}, condition("Ready")),
    ("v1", "Pod", {}, {"phase": "Succeeded"}),
    ("v1", "Service", {}, None),
    ("v1", "Service", {"type": "LoadBalancer"}, {"loadBalancer": {"ingress": [{"ip": "x"}]}}),
    ("v1", "Namespace", None, {"phase": "Active"}),
    ("v1", "PersistentVolumeClaim", {}, {"phase": "Bound"}),
    ("v1", "PersistentVolume", {}, {"phase": "Available"}),
    ("networking.k8s.io/v1", "Ingress", {}, {"loadBalancer": {}}),
    ("policy/v1", "PodDisruptionBudget", {}, condition("DisruptionAllowed", "False")),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition", {}, condition("Established")),
    ("v1", "ConfigMap", None, None),
    ("example.com/v1", "Deployment", {}, condition("Ready", observedGeneration=1)),
    ("example.com/v1", "Thing", {}, condition("Available")),
]  # fmt: skip
WAITING: list[tuple[str, str, Any, Any]] = [
    (APPS, "Deployment", {}, None),
    (APPS, "Deployment", {},
     {"observedGeneration": 0, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}),
    (APPS, "Deployment", {},
     {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 1, "availableReplicas": 1}),
    (APPS, "Deployment", {}, {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1}),
    (APPS, "StatefulSet", {},
     {"observedGeneration": 1, "readyReplicas": 1, "updateRevision": "b", "currentRevision": "a"}),
    (APPS, "StatefulSet", {"replicas": 2}, {"observedGeneration": 1, "readyReplicas": 1}),
    (APPS, "ReplicaSet", {}, {"observedGeneration": 1}),
    (APPS, "DaemonSet", {}, {"observedGeneration": 1, "desiredNumberScheduled": 1}),
    ("batch/v1", "Job", {}, condition("Failed")),
    ("batch/v1", "Job", {}, condition("Complete", "False")),
    ("v1", "Pod", {}, condition("Ready", "False")),
    ("v1", "Pod", {}, {}),
    ("v1", "Service", {"type": "LoadBalancer"}, {"loadBalancer": None}),
    ("v1", "Namespace", None, {"phase": "Terminating"}),
    ("v1", "PersistentVolumeClaim", {}, {"phase": "Pending"}),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition", {}, None),
    ("example.com/v1", "Thing", {}, condition("Ready", "False")),
    ("example.com/v1", "Thing", {}, condition("Ready", observedGeneration=2)),
    ("example.com/v1", "Thing", {}, {"phase": "Ready"}),
]  # fmt: skip


def made(case: tuple[str, str, Any, Any], **meta: Any) -> Json:
    """An object of that kind, in its first generation."""
    version, kind, spec, status = case
    metadata = {"generation": 1, **meta}
    return {
        "apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec, "status": status
    }  # fmt: skip


@pytest.mark.parametrize("case", READY, ids=range(len(READY)))
def test_what_is_ready(case: Any) -> None:
    """As kubectl rollout status and friends see it; what is going is not."""
    assert is_ready(made(case))
    assert not is_ready(made(case, deletionTimestamp="2026-01-01T00:00:00Z"))


@pytest.mark.parametrize("case", WAITING, ids=range(len(WAITING)))
def test_what_is_not_ready_yet(case: Any) -> None:
    """Not there yet, not observed yet, or of an older generation."""
    assert not is_ready(made(case))


def test_what_does_not_exist_is_not_ready() -> None:
    """None is what ctx.get returns then."""
    assert not is_ready(None)


@given(obj=documents())
def test_any_object_has_an_answer(obj: Json) -> None:
    """Whatever it holds."""
    assert is_ready(obj) in (True, False)
