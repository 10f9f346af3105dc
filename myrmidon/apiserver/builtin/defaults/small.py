"""Kinds with few defaults: networking, policy, access, storage, scaling, extensions."""

from myrmidon.api.objects import Json
from myrmidon.apiserver.builtin.defaults.completions import Completion, fill

_RBAC = "rbac.authorization.k8s.io"


def _network_policy_spec(spec: Json) -> None:
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _ingress_class_spec(spec: Json) -> None:
    if spec.get("parameters"):
        fill(scope="Cluster")(spec["parameters"])


def _subject(subject: Json) -> None:
    if subject.get("kind") in ("User", "Group"):
        fill(apiGroup=_RBAC)(subject)


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


def _definition(definition: Json) -> None:
    if not definition["status"].get("storedVersions"):
        versions = definition["spec"].get("versions") or ()
        stored = [version["name"] for version in versions if version.get("storage")]
        if stored:
            definition["status"]["storedVersions"] = stored[:1]


def _definition_spec(spec: Json) -> None:
    names = spec["names"]
    kind = names.get("kind", "")
    if kind:
        fill(singular=kind.lower(), listKind=f"{kind}List")(names)
    spec.setdefault("conversion", {"strategy": "None"})


_WEBHOOK = fill(
    failurePolicy="Fail",
    matchPolicy="Equivalent",
    namespaceSelector={},
    objectSelector={},
    timeoutSeconds=10,
)


def _mutating_webhook(webhook: Json) -> None:
    _WEBHOOK(webhook)
    fill(reinvocationPolicy="Never")(webhook)


def _autoscaler_v1(autoscaler: Json) -> None:
    if "autoscaling.alpha.kubernetes.io/metrics" not in autoscaler["metadata"].get(
        "annotations", {}
    ):
        fill(targetCPUUtilizationPercentage=80)(autoscaler["spec"])


_EXTENSIONS = "apiextensions-apiserver.pkg.apis.apiextensions.v1."

SMALL: dict[str, Completion] = {
    "api.networking.v1.NetworkPolicySpec": _network_policy_spec,
    "api.networking.v1.NetworkPolicyPort": fill(protocol="TCP"),
    "api.networking.v1.IngressClassSpec": _ingress_class_spec,
    "api.rbac.v1.RoleRef": fill(apiGroup=_RBAC),
    "api.rbac.v1.Subject": _subject,
    "api.autoscaling.v1.HorizontalPodAutoscaler": _autoscaler_v1,
    "api.autoscaling.v1.HorizontalPodAutoscalerSpec": fill(minReplicas=1),
    "api.autoscaling.v2.HorizontalPodAutoscalerSpec": _autoscaler_v2_spec,
    "api.storage.v1.StorageClass": fill(reclaimPolicy="Delete", volumeBindingMode="Immediate"),
    "api.storage.v1.CSIDriverSpec": fill(
        attachRequired=True,
        podInfoOnMount=False,
        storageCapacity=False,
        fsGroupPolicy="ReadWriteOnceWithFSType",
        volumeLifecycleModes=["Persistent"],
        requiresRepublish=False,
        seLinuxMount=False,
    ),
    "api.discovery.v1.EndpointPort": fill(name="", protocol="TCP"),
    "api.scheduling.v1.PriorityClass": fill(preemptionPolicy="PreemptLowerPriority"),
    "api.admissionregistration.v1.ValidatingWebhook": _WEBHOOK,
    "api.admissionregistration.v1.MutatingWebhook": _mutating_webhook,
    "api.admissionregistration.v1.RuleWithOperations": fill(scope="*"),
    "api.admissionregistration.v1.NamedRuleWithOperations": fill(scope="*"),
    "api.admissionregistration.v1.ServiceReference": fill(port=443),
    "api.admissionregistration.v1.ValidatingAdmissionPolicySpec": fill(failurePolicy="Fail"),
    "api.admissionregistration.v1.MutatingAdmissionPolicySpec": fill(failurePolicy="Fail"),
    "api.admissionregistration.v1.MatchResources": fill(
        matchPolicy="Equivalent", namespaceSelector={}, objectSelector={}
    ),
    _EXTENSIONS + "CustomResourceDefinition": _definition,
    _EXTENSIONS + "CustomResourceDefinitionSpec": _definition_spec,
    _EXTENSIONS + "ServiceReference": fill(port=443),
}
