"""Preparation of Services: allocate cluster IPs and node ports.

There is no separate record of the allocated addresses and ports: those in use are read from the
existing Services.
"""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.lookup import ObjectLookup

ADDRESSES = IPv4Network("10.0.0.0/24")
NODE_PORTS = range(30000, 32768)
# The first addresses of the range are allocated last, as Services may request them explicitly.
_FIRST_DYNAMIC = 17
HEADLESS = "None"


def needs_address(service: Json) -> bool:
    """Whether a Service has a cluster IP, which may be ``None`` (headless)."""
    return bool(service["spec"].get("type") != "ExternalName")


def needs_node_ports(service: Json) -> bool:
    """Whether the ports of a Service are opened on every node."""
    return service["spec"].get("type") in ("NodePort", "LoadBalancer")


def create_service(service: Json, cluster: ObjectLookup) -> None:
    """Allocate the cluster IP and node ports that the Service needs and does not specify."""
    spec = service["spec"]
    service["status"] = {"loadBalancer": {}}
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    _set_families(service)
    _set_address(service, cluster)
    _set_node_ports(service, cluster)


def update_service(service: Json, old: Json, cluster: ObjectLookup) -> None:
    """Keep the allocated values, and release those that the new type does not need."""
    spec, before = service["spec"], old["spec"]
    _sync_cluster_ips(spec, before)
    if needs_address(service) and needs_address(old):
        for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if not spec.get(field) and before.get(field):
                spec[field] = before[field]
    _drop_unneeded(service, old)
    _keep_node_ports(service, old)
    if service["spec"].get("type") != "LoadBalancer":
        service["status"] = {"loadBalancer": {}}
    _set_families(service)
    _set_address(service, cluster)
    _set_node_ports(service, cluster)


def _sync_cluster_ips(spec: Json, before: Json) -> None:
    """Set ``clusterIPs`` from a changed ``clusterIP``, for clients that only know the latter."""
    address, addresses = spec.get("clusterIP", ""), spec.get("clusterIPs", [])
    if address == before.get("clusterIP", ""):
        return
    if not addresses or addresses == before.get("clusterIPs", []):
        if address:
            spec["clusterIPs"] = [address]
        else:
            spec.pop("clusterIPs", None)


def _drop_unneeded(service: Json, old: Json) -> None:
    spec, before = service["spec"], old["spec"]
    dropped: list[str] = []
    if needs_address(old) and not needs_address(service):
        dropped += [
            "clusterIP",
            "clusterIPs",
            "ipFamilies",
            "ipFamilyPolicy",
            "internalTrafficPolicy",
        ]
    if needs_node_ports(old) and not needs_node_ports(service):
        dropped.append("externalTrafficPolicy")
        given = [port.get("nodePort") for port in spec.get("ports", ())]
        if given == [port.get("nodePort") for port in before.get("ports", ())]:
            spec["ports"] = [
                {key: value for key, value in port.items() if key != "nodePort"}
                for port in spec.get("ports", ())
            ]
    if before.get("type") == "LoadBalancer" and spec.get("type") != "LoadBalancer":
        dropped += ["allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort"]
    for field in dropped:
        if spec.get(field) == before.get(field):
            spec.pop(field, None)


def _keep_node_ports(service: Json, old: Json) -> None:
    if not (needs_node_ports(service) and needs_node_ports(old)):
        return
    given = {port.get("nodePort") for port in service["spec"].get("ports", ())}
    before = {port.get("name"): port.get("nodePort") for port in old["spec"].get("ports", ())}
    for port in service["spec"].get("ports", ()):
        known = before.get(port.get("name"))
        if known and not port.get("nodePort") and known not in given:
            port["nodePort"] = known


def _set_families(service: Json) -> None:
    spec = service["spec"]
    if not needs_address(service):
        return
    free = spec.get("clusterIP") == HEADLESS and not spec.get("selector")
    spec.setdefault("ipFamilyPolicy", "RequireDualStack" if free else "SingleStack")
    if not spec.get("ipFamilies"):
        dual = free and spec["ipFamilyPolicy"] != "SingleStack"
        spec["ipFamilies"] = ["IPv4", "IPv6"] if dual else ["IPv4"]


def _set_address(service: Json, cluster: ObjectLookup) -> None:
    spec = service["spec"]
    if not needs_address(service) or spec.get("clusterIPs"):
        return
    taken = set(addresses_in_use(cluster))
    for offset in _dynamic_first():
        address = str(ADDRESSES[offset])
        if address not in taken:
            spec["clusterIP"], spec["clusterIPs"] = address, [address]
            return


def _dynamic_first() -> Iterator[int]:
    yield from range(_FIRST_DYNAMIC, ADDRESSES.num_addresses - 1)
    yield from range(1, _FIRST_DYNAMIC)


def _set_node_ports(service: Json, cluster: ObjectLookup) -> None:
    spec = service["spec"]
    wanted = needs_node_ports(service) and spec.get("allocateLoadBalancerNodePorts", True)
    missing = [port for port in spec.get("ports", ()) if wanted and not port.get("nodePort")]
    health = (
        spec.get("type") == "LoadBalancer"
        and spec.get("externalTrafficPolicy") == "Local"
        and not spec.get("healthCheckNodePort")
    )
    if not missing and not health:
        return
    taken = set(node_ports_in_use(cluster)) | set(_node_ports(service))
    free = (number for number in NODE_PORTS if number not in taken)
    for port in missing:
        port["nodePort"] = next(free)
    if health:
        spec["healthCheckNodePort"] = next(free)


def addresses_in_use(cluster: ObjectLookup, *, but: str = "") -> Iterator[str]:
    """Yield the cluster IPs of all Services except ``but``, and that of the API server."""
    yield str(ADDRESSES[1])
    for service in cluster.objects("", "services"):
        if service["metadata"]["uid"] != but:
            yield from service["spec"].get("clusterIPs", ())


def node_ports_in_use(cluster: ObjectLookup, *, but: str = "") -> Iterator[int]:
    """Yield the node ports of all Services except ``but``."""
    for service in cluster.objects("", "services"):
        if service["metadata"]["uid"] != but:
            yield from _node_ports(service)


def _node_ports(service: Json) -> Iterator[int]:
    for port in service["spec"].get("ports", ()):
        if port.get("nodePort"):
            yield port["nodePort"]
    if service["spec"].get("healthCheckNodePort"):
        yield service["spec"]["healthCheckNodePort"]


def in_range(address: str) -> bool:
    """Whether an address is in the service CIDR."""
    return IPv4Address(address) in ADDRESSES
