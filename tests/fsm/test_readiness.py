"""When an object of each kind is ready."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects.accessors import Json
from myrmidon.fsm.children.readiness import exists, has_condition, is_ready, is_silent
from tests.strategies import SCALARS, documents, values

APPS = "apps/v1"
GATEWAY = "gateway.networking.k8s.io/v1"


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
    ("example.com/v1", "Thing", {}, {**condition("Ready"), "observedGeneration": 1}),
    (APPS, "StatefulSet", {"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}},
     {"observedGeneration": 1, "readyReplicas": 3, "updatedReplicas": 1,
      "updateRevision": "b", "currentRevision": "a"}),
    (APPS, "StatefulSet", {"updateStrategy": {"type": "OnDelete"}},
     {"observedGeneration": 1, "readyReplicas": 1, "updateRevision": "b", "currentRevision": "a"}),
    (APPS, "DaemonSet", {"updateStrategy": {"type": "OnDelete"}},
     {"observedGeneration": 1, "desiredNumberScheduled": 1, "numberAvailable": 1}),
    (APPS, "DaemonSet", {}, {"observedGeneration": 1, "desiredNumberScheduled": 0}),
    ("v1", "ReplicationController", {"replicas": 0}, {"observedGeneration": 1}),
    ("v1", "ResourceQuota", {}, {"used": {"cpu": "1"}}),
    ("v1", "Node", {}, condition("Ready")),
    ("autoscaling/v2", "HorizontalPodAutoscaler", {}, condition("ScalingActive", "False")),
    ("apiregistration.k8s.io/v1", "APIService", {}, condition("Available")),
    (GATEWAY, "Gateway", {}, condition("Programmed", observedGeneration=1)),
    (GATEWAY, "GatewayClass", {}, condition("Accepted")),
    (GATEWAY, "HTTPRoute", {}, {"parents": [condition("Accepted", observedGeneration=1)]}),
    (GATEWAY, "ReferenceGrant", {}, None),
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
    ("example.com/v1", "Thing", {}, None),
    ("example.com/v1", "Thing", {}, {}),
    ("example.com/v1", "Thing", {}, {"observedGeneration": 1}),
    ("example.com/v1", "Thing", {}, condition("Healthy")),
    ("example.com/v1", "Thing", {}, {**condition("Ready"), "observedGeneration": 2}),
    ("example.com/v1", "Thing", {}, {"conditions": [
        {"type": "Available", "status": "True"}, {"type": "Ready", "status": "False"}]}),
    ("example.com/v1", "Thing", {}, {"conditions": [
        {"type": "Ready", "status": "True"}, {"type": "Stalled", "status": "True"}]}),
    ("example.com/v1", "Thing", {}, {"conditions": [
        {"type": "Ready", "status": "True"}, {"type": "Reconciling", "status": "True"}]}),
    (APPS, "StatefulSet", {}, None),
    (APPS, "StatefulSet", {"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}},
     {"observedGeneration": 1, "readyReplicas": 3, "updatedReplicas": 0}),
    (APPS, "ReplicaSet", {}, None),
    (APPS, "DaemonSet", {}, None),
    (APPS, "DaemonSet", {}, {"observedGeneration": 1}),
    (APPS, "DaemonSet", {}, {"observedGeneration": 0, "desiredNumberScheduled": 0}),
    ("batch/v1", "Job", {"suspend": True}, condition("Suspended")),
    ("v1", "Node", {}, condition("Ready", "Unknown")),
    ("policy/v1", "PodDisruptionBudget", {}, {"observedGeneration": 0}),
    ("apiregistration.k8s.io/v1", "APIService", {}, None),
    (GATEWAY, "Gateway", {}, condition("Accepted")),
    (GATEWAY, "HTTPRoute", {}, None),
    (GATEWAY, "HTTPRoute", {}, {"parents": [condition("Accepted", observedGeneration=2)]}),
    (GATEWAY, "HTTPRoute", {}, {"parents": [condition("Accepted"), "odd"]}),
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
    """The rules agree with kubectl rollout status; an object that is being deleted is not ready."""
    assert is_ready(made(case))
    assert not is_ready(made(case, deletionTimestamp="2026-01-01T00:00:00Z"))


@pytest.mark.parametrize("case", WAITING, ids=range(len(WAITING)))
def test_what_is_not_ready_yet(case: Any) -> None:
    """The status is missing, not observed yet, or of an older generation."""
    assert not is_ready(made(case))


def test_what_does_not_exist_is_not_ready() -> None:
    """ctx.get returns None for such an object."""
    assert not is_ready(None)


KINDS = sorted({case[:2] for case in (*READY, *WAITING)})
ODD = values(SCALARS | st.sampled_from(["True", "Ready", 10**30, -1, "3"]))
STATUS_FIELDS = st.sampled_from(
    [
        "conditions", "observedGeneration", "replicas", "readyReplicas", "availableReplicas",
        "updatedReplicas", "desiredNumberScheduled", "numberAvailable", "phase", "loadBalancer",
        "parents", "type", "status", "updateStrategy", "rollingUpdate", "partition", "generation",
    ]
)  # fmt: skip
PARTS = ODD | st.dictionaries(
    STATUS_FIELDS,
    ODD | st.lists(st.dictionaries(STATUS_FIELDS, ODD)) | st.dictionaries(STATUS_FIELDS, ODD),
)


@given(kind=st.sampled_from(KINDS), metadata=PARTS, spec=PARTS, status=PARTS)
def test_any_object_has_an_answer(kind: Any, metadata: Any, spec: Any, status: Any) -> None:
    """K7: is_ready returns a bool for any object, whatever types its fields have."""
    version, name = kind
    obj = {"apiVersion": version, "kind": name, "metadata": metadata, "spec": spec}
    assert is_ready({**obj, "status": status}) in (True, False)


@given(status=documents(), generation=st.integers(1, 3))
def test_c9_a_custom_object_is_not_ready_before_it_says_so(status: Json, generation: int) -> None:
    """C9: a status is not enough without a condition for the current generation."""
    obj = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"generation": generation}}
    assert not is_ready({**obj, "status": status})
    for observed in range(1, 4):
        said = condition("Ready", observedGeneration=observed)
        assert is_ready({**obj, "status": said}) == (observed == generation)


def test_an_object_without_a_kind_is_not_ready() -> None:
    """Such as one that was built and never read."""
    assert not is_ready({})
    assert not is_ready({"apiVersion": "v1"})


def test_rules_of_a_controller_come_first() -> None:
    """They take precedence for custom and for built-in kinds."""
    thing = made(("example.com/v1", "Thing", {}, None))
    claim = made(("v1", "PersistentVolumeClaim", {}, {"phase": "Pending"}))
    rules = {("example.com", "Thing"): exists, ("", "PersistentVolumeClaim"): exists}

    assert not is_ready(thing)
    assert is_ready(thing, rules)
    assert is_ready(claim, rules)
    assert not is_ready(made(("example.com/v1", "Other", {}, None)), rules)
    assert not is_ready({**thing, "metadata": {"deletionTimestamp": "x"}}, rules)
    assert not is_ready(None, rules)


def test_a_named_condition_can_be_what_counts() -> None:
    """True, and of the current generation."""
    rules = {("example.com", "Thing"): has_condition("Succeeded")}

    def ready(status: str, observed: int) -> bool:
        said = condition("Succeeded", status, observedGeneration=observed)
        return is_ready(made(("example.com/v1", "Thing", {}, said)), rules)

    assert ready("True", 1)
    assert not ready("True", 2)
    assert not ready("False", 1)


def test_a_custom_object_without_a_condition_is_silent() -> None:
    """Its controller has not seen it, or its kind never reports; other kinds have their rules."""
    assert is_silent(made(("example.com/v1", "Thing", {}, {"phase": "x"})))
    assert not is_silent(made(("example.com/v1", "Thing", {}, condition("Ready", "False"))))
    assert not is_silent(made(("v1", "ConfigMap", {}, None)))
    assert not is_silent(made((GATEWAY, "Gateway", {}, None)))
