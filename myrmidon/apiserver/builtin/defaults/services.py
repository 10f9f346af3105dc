"""Defaults of Services and Endpoints."""

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.defaults.completions import Completion, fill

_THREE_HOURS = 10800
_WITH_ADDRESS = ("ClusterIP", "NodePort", "LoadBalancer")


def _service(service: Json) -> None:
    spec = service["spec"]
    fill(sessionAffinity="None", type="ClusterIP")(spec)
    _affinity(spec)
    for port in spec.get("ports", ()):
        fill(protocol="TCP")(port)
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    external = spec["type"] in ("NodePort", "LoadBalancer") or (
        spec["type"] == "ClusterIP" and spec.get("externalIPs")
    )
    if external:
        fill(externalTrafficPolicy="Cluster")(spec)
    if spec["type"] in _WITH_ADDRESS:
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in service["status"].get("loadBalancer", {}).get("ingress", ()):
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def _affinity(spec: Json) -> None:
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        client = spec.get("sessionAffinityConfig", {}).get("clientIP", {})
        if "timeoutSeconds" not in client:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _THREE_HOURS}}


SERVICES: dict[str, Completion] = {
    "Service": _service,
    "EndpointPort": fill(protocol="TCP"),
}
