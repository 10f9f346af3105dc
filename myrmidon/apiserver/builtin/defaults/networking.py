"""Defaults of NetworkPolicies, IngressClasses and EndpointSlices."""

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.defaults.completions import Completion, fill


def _network_policy_spec(spec: Json) -> None:
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _ingress_class_spec(spec: Json) -> None:
    if spec.get("parameters"):
        fill(scope="Cluster")(spec["parameters"])


NETWORKING: dict[str, Completion] = {
    "api.networking.v1.NetworkPolicySpec": _network_policy_spec,
    "api.networking.v1.NetworkPolicyPort": fill(protocol="TCP"),
    "api.networking.v1.IngressClassSpec": _ingress_class_spec,
    "api.discovery.v1.EndpointPort": fill(name="", protocol="TCP"),
}
