"""Validation of Services, with the messages of the real server."""

from collections.abc import Iterator
from ipaddress import ip_address

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.lookup import ObjectLookup
from myrmidon.apiserver.builtin.preparing.services import (
    HEADLESS,
    NODE_PORTS,
    addresses_in_use,
    in_range,
    needs_address,
    node_ports_in_use,
)
from myrmidon.apiserver.builtin.validation.common import (
    address,
    choice,
    label,
    labels,
    network,
    one_of,
    port_number,
    port_number_or_name,
    qualified,
    subdomain,
)
from myrmidon.apiserver.builtin.validation.containers import PROTOCOLS
from myrmidon.apiserver.refusals.causes import duplicate, forbidden, invalid, required
from myrmidon.apiserver.refusals.failures import StatusCause

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_ONE_DAY = 86400


def check_service(service: Json) -> Iterator[StatusCause]:
    """Check a Service."""
    spec = service["spec"]
    headless = _is_headless(spec)
    ports = spec.get("ports", [])
    if not ports and not headless and spec.get("type") != "ExternalName":
        yield required("spec.ports")
    yield from _check_type(spec, headless=headless)
    yield from _check_ports(spec, ports)
    yield from labels("spec.selector", spec.get("selector", {}))
    yield from _check_affinity(spec)
    for index, external in enumerate(spec.get("externalIPs", ())):
        yield from address(f"spec.externalIPs[{index}]", external)
    yield from one_of("spec.type", spec.get("type"), _TYPES)
    yield from _check_balancing(spec)
    yield from _check_traffic(spec)


def _is_headless(spec: Json) -> bool:
    return list(spec.get("clusterIPs", ())) == [HEADLESS]


def _check_type(spec: Json, *, headless: bool) -> Iterator[StatusCause]:
    kind = spec.get("type")
    if kind in ("LoadBalancer", "NodePort") and headless:
        yield invalid(
            "spec.clusterIPs[0]", HEADLESS, f"may not be set to 'None' for {kind} services"
        )
    if kind != "ExternalName":
        return
    for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(field):
            yield forbidden(f"spec.{field}", "may not be set for ExternalName services")
    name = spec.get("externalName", "").removesuffix(".")
    if name:
        yield from subdomain("spec.externalName", name)
    else:
        yield required("spec.externalName")


def _check_ports(spec: Json, ports: list[Json]) -> Iterator[StatusCause]:
    names: set[str] = set()
    seen: set[tuple[str, int]] = set()
    opened: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        field = f"spec.ports[{index}]"
        yield from _check_port(field, port, names, needs_name=len(ports) > 1)
        protocol = port.get("protocol", "")
        node_port = port.get("nodePort", 0)
        if node_port and spec.get("type") == "ClusterIP":
            yield forbidden(f"{field}.nodePort", "may not be used when `type` is 'ClusterIP'")
        if node_port and (protocol, node_port) in opened:
            yield duplicate(f"{field}.nodePort", node_port)
        opened.add((protocol, node_port))
        key = (protocol, port.get("port", 0))
        if key in seen:
            yield duplicate(field, {"protocol": key[0], "port": key[1]})
        seen.add(key)


def _check_port(
    field: str, port: Json, names: set[str], *, needs_name: bool
) -> Iterator[StatusCause]:
    name = port.get("name", "")
    if name:
        yield from label(f"{field}.name", name)
        if name in names:
            yield duplicate(f"{field}.name", name)
        names.add(name)
    elif needs_name:
        yield required(f"{field}.name")
    yield from port_number(f"{field}.port", port.get("port", 0))
    yield from one_of(f"{field}.protocol", port.get("protocol"), PROTOCOLS)
    yield from port_number_or_name(f"{field}.targetPort", port.get("targetPort", 0))
    if port.get("appProtocol"):
        yield from qualified(f"{field}.appProtocol", port["appProtocol"])


def _check_affinity(spec: Json) -> Iterator[StatusCause]:
    affinity = spec.get("sessionAffinity")
    yield from one_of("spec.sessionAffinity", affinity, ("ClientIP", "None"))
    if affinity == "ClientIP":
        seconds = spec.get("sessionAffinityConfig", {}).get("clientIP", {}).get("timeoutSeconds", 0)
        if not 0 < seconds <= _ONE_DAY:
            yield invalid(
                "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
                seconds,
                f"must be greater than 0 and less than {_ONE_DAY}",
            )


def check_addresses(service: Json) -> Iterator[StatusCause]:
    """Check that cluster IPs, IP families and the family policy fit each other and the cluster."""
    spec = service["spec"]
    yield from _check_dual_stack(spec)
    yield from _check_addresses(spec)
    yield from _check_families(spec)


def _check_dual_stack(spec: Json) -> Iterator[StatusCause]:
    wanted = spec.get("ipFamilyPolicy") == "RequireDualStack"
    free = spec.get("clusterIP") == HEADLESS and not spec.get("selector")
    if wanted and not free and spec.get("type") != "ExternalName":
        problem = "this cluster is not configured for dual-stack services"
        yield invalid("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], problem)
        for index, family in enumerate(spec.get("ipFamilies", ())):
            if family != "IPv4":
                problem = "not configured on this cluster"
                yield invalid(f"spec.ipFamilies[{index}]", family, problem)


def _check_addresses(spec: Json) -> Iterator[StatusCause]:
    if spec.get("type") == "ExternalName":
        return
    address_, addresses = spec.get("clusterIP", ""), spec.get("clusterIPs", [])
    if address_ and addresses and addresses[0] != address_:
        yield invalid("spec.clusterIPs", addresses, "first value must match `clusterIP`")
    elif not address_ and addresses:
        yield invalid(
            "spec.clusterIPs", addresses, "must be empty when `clusterIP` is not specified"
        )
    for index, given in enumerate(addresses):
        if index == 0 and given == HEADLESS:
            if len(addresses) > 1:
                yield invalid(
                    "spec.clusterIPs", addresses, "'None' must be the first and only value"
                )
        else:
            yield from address(f"spec.clusterIPs[{index}]", given)
    if len(addresses) > 2:
        yield invalid("spec.clusterIPs", addresses, "may only hold up to 2 values")


def _check_families(spec: Json) -> Iterator[StatusCause]:
    if spec.get("type") == "ExternalName":
        return
    families = spec.get("ipFamilies", [])
    for index, family in enumerate(families):
        yield from one_of(f"spec.ipFamilies[{index}]", family, ("IPv4", "IPv6"))
        if family in families[:index]:
            yield duplicate(f"spec.ipFamilies[{index}]", family)
    if "ipFamilyPolicy" in spec:
        yield from one_of(
            "spec.ipFamilyPolicy",
            spec["ipFamilyPolicy"],
            ("PreferDualStack", "RequireDualStack", "SingleStack"),
        )


def _check_balancing(spec: Json) -> Iterator[StatusCause]:
    balancer = spec.get("type") == "LoadBalancer"
    ranges = spec.get("loadBalancerSourceRanges", [])
    if ranges and not balancer:
        yield forbidden(
            "spec.LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'"
        )
    for index, value in enumerate(ranges):
        yield from network(f"spec.LoadBalancerSourceRanges[{index}]", value.strip())
    if "allocateLoadBalancerNodePorts" in spec and not balancer:
        yield forbidden(
            "spec.allocateLoadBalancerNodePorts", "may only be used when `type` is 'LoadBalancer'"
        )
    if "loadBalancerClass" in spec:
        yield from qualified("spec.loadBalancerClass", spec["loadBalancerClass"])
        if not balancer:
            yield forbidden(
                "spec.loadBalancerClass", "may only be used when `type` is 'LoadBalancer'"
            )


def _check_traffic(spec: Json) -> Iterator[StatusCause]:
    external = spec.get("type") in ("LoadBalancer", "NodePort") or (
        spec.get("type") == "ClusterIP" and spec.get("externalIPs")
    )
    policy = spec.get("externalTrafficPolicy", "")
    if external:
        yield from one_of("spec.externalTrafficPolicy", policy, ("Cluster", "Local"))
    elif policy:
        yield invalid(
            "spec.externalTrafficPolicy",
            policy,
            "may only be set for externally-accessible services",
        )
    needs_check = spec.get("type") == "LoadBalancer" and policy == "Local"
    if spec.get("healthCheckNodePort") and not needs_check:
        yield invalid(
            "spec.healthCheckNodePort",
            spec["healthCheckNodePort"],
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
        )
    yield from choice(
        "spec.internalTrafficPolicy", spec.get("internalTrafficPolicy"), ("Cluster", "Local")
    )


def check_service_status(service: Json) -> Iterator[StatusCause]:
    """Check that only a Service of type LoadBalancer has a load balancer status."""
    given = service["status"].get("loadBalancer", {}).get("ingress")
    if given and service["spec"].get("type") != "LoadBalancer":
        yield forbidden(
            "status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'"
        )
    for index, ingress in enumerate(given or ()):
        if ingress.get("ip"):
            yield from address(f"status.loadBalancer.ingress[{index}].ip", ingress["ip"])


def check_service_change(new: Json, old: Json) -> Iterator[StatusCause]:
    """Check that the cluster IP of a Service does not change once it is set."""
    spec, before = new["spec"], old["spec"]
    if not needs_address(new) or not needs_address(old):
        return
    if _is_headless(spec) and _is_headless(before):
        return
    given, had = spec.get("clusterIPs", []), before.get("clusterIPs", [])
    if had and not given:
        yield invalid("spec.clusterIPs[0]", given or None, "primary clusterIP can not be unset")
    for index, (now, then) in enumerate(zip(given, had, strict=False)):
        if now != then:
            yield invalid(f"spec.clusterIPs[{index}]", given, "may not change once set")
    families, had_families = spec.get("ipFamilies", []), before.get("ipFamilies", [])
    if families and had_families and families[0] != had_families[0]:
        yield invalid("spec.ipFamilies[0]", families, "may not change once set")


def check_free(service: Json, cluster: ObjectLookup) -> Iterator[StatusCause]:
    """Check that a requested cluster IP or node port is free and in range."""
    spec, uid = service["spec"], service["metadata"].get("uid", "")
    addresses = [given for given in spec.get("clusterIPs", ()) if given != HEADLESS]
    taken = set(addresses_in_use(cluster, but=uid)) if addresses else set()
    for given in addresses:
        problem = ""
        if ip_address(given).version != 4 or not in_range(given):
            problem = (
                "the provided IP is not in the valid range. The range of valid IPs is 10.0.0.0/24"
            )
        elif given in taken:
            problem = "provided IP is already allocated"
        if problem:
            yield invalid("spec.clusterIPs", addresses, f"failed to allocate IP {given}: {problem}")
    ports = [port.get("nodePort") for port in spec.get("ports", ())]
    used = set(node_ports_in_use(cluster, but=uid)) if any(ports) else set()
    for index, number in enumerate(ports):
        if not number:
            continue
        field = f"spec.ports[{index}].nodePort"
        if number not in NODE_PORTS:
            yield invalid(
                field,
                number,
                "provided port is not in the valid range. The range of valid ports is 30000-32767",
            )
        elif number in used:
            yield invalid(field, number, "provided port is already allocated")
