"""Validation of Ingresses, IngressClasses, NetworkPolicies, EndpointSlices and Endpoints."""

import re
from collections.abc import Iterator
from ipaddress import ip_address

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.validation.common import (
    address,
    choice,
    label,
    label_selector,
    network,
    one_of,
    port_name,
    port_number,
    port_number_or_name,
    subdomain,
    unchanged,
)
from myrmidon.apiserver.builtin.validation.containers import PROTOCOLS
from myrmidon.apiserver.refusals.causes import forbidden, invalid, required
from myrmidon.apiserver.refusals.failures import StatusCause

_DOMAIN_PATH = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")


def check_ingress(ingress: Json) -> Iterator[StatusCause]:
    """Check an Ingress."""
    spec = ingress["spec"]
    if not spec.get("rules") and "defaultBackend" not in spec:
        yield invalid("spec", spec, "either `defaultBackend` or `rules` must be specified")
    if "defaultBackend" in spec:
        yield from _check_backend("spec.defaultBackend", spec["defaultBackend"])
    for index, rule in enumerate(spec.get("rules", ())):
        yield from _check_rule(f"spec.rules[{index}]", rule)
    for index, tls in enumerate(spec.get("tls", ())):
        for number, host in enumerate(tls.get("hosts", ())):
            yield from _check_host(f"spec.tls[{index}].hosts[{number}]", host)
    if spec.get("ingressClassName"):
        yield from subdomain("spec.ingressClassName", spec["ingressClassName"])


def _check_rule(field: str, rule: Json) -> Iterator[StatusCause]:
    host = rule.get("host", "")
    if host:
        try:
            ip_address(host)
        except ValueError:
            yield from _check_host(f"{field}.host", host)
        else:
            yield invalid(f"{field}.host", host, "must be a DNS name, not an IP address")
    if "http" not in rule:
        return
    paths = rule["http"].get("paths") or []
    if not paths:
        yield required(f"{field}.http.paths")
    for index, path in enumerate(paths):
        yield from _check_path(f"{field}.http.paths[{index}]", path)


def _check_host(field: str, host: str) -> Iterator[StatusCause]:
    yield from subdomain(field, host.removeprefix("*."))


def _check_path(field: str, path: Json) -> Iterator[StatusCause]:
    kind, text = path.get("pathType"), path.get("path", "")
    if not kind:
        yield required(f"{field}.pathType", "pathType must be specified")
        return
    yield from one_of(f"{field}.pathType", kind, _PATH_TYPES)
    if kind in ("Exact", "Prefix"):
        if not text.startswith("/"):
            yield invalid(f"{field}.path", text, "must be an absolute path")
        for part in ("//", "/./", "/../", "%2f", "%2F"):
            if part in text:
                yield invalid(f"{field}.path", text, f"must not contain '{part}'")
    elif text and not text.startswith("/"):
        yield invalid(f"{field}.path", text, "must be an absolute path")
    yield from _check_backend(f"{field}.backend", path.get("backend", {}))


def _check_backend(field: str, backend: Json) -> Iterator[StatusCause]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        yield invalid(field, "", "cannot set both resource and service backends")
    elif service is None and resource is None:
        yield invalid(field, "", "resource or service backend is required")
    elif service is not None:
        if not service.get("name"):
            yield required(f"{field}.service.name")
        port = service.get("port", {})
        if port.get("name") and port.get("number"):
            yield invalid(field, "", "cannot set both port name & port number")
        elif port.get("name"):
            yield from port_name(f"{field}.service.port.name", port["name"])
        elif port.get("number"):
            yield from port_number(f"{field}.service.port.number", port["number"])
        else:
            yield required(field, "port name or number is required")


def check_ingress_class(ingress_class: Json) -> Iterator[StatusCause]:
    """Check an IngressClass."""
    spec = ingress_class["spec"]
    controller = spec.get("controller", "")
    if not controller:
        yield required("spec.controller")
    elif not _DOMAIN_PATH.fullmatch(controller):
        yield invalid(
            "spec.controller", controller, 'must be a domain-prefixed path (such as "acme.io/foo")'
        )
    parameters = spec.get("parameters")
    if parameters is None:
        return
    for name in ("kind", "name"):
        if not parameters.get(name):
            yield required(f"spec.parameters.{name}")
    yield from choice("spec.parameters.scope", parameters.get("scope"), ("Cluster", "Namespace"))


def check_ingress_class_change(new: Json, old: Json) -> Iterator[StatusCause]:
    """Check that the controller of an IngressClass does not change."""
    now, then = new["spec"].get("controller"), old["spec"].get("controller")
    yield from unchanged("spec.controller", now, then)


def check_network_policy(policy: Json) -> Iterator[StatusCause]:
    """Check a NetworkPolicy."""
    spec = policy["spec"]
    yield from label_selector("spec.podSelector", spec.get("podSelector", {}))
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction, ())):
            field = f"spec.{direction}[{index}]"
            for number, port in enumerate(rule.get("ports", ())):
                yield from _check_policy_port(f"{field}.ports[{number}]", port)
            for number, peer in enumerate(rule.get(peers, ())):
                yield from _check_peer(f"{field}.{peers}[{number}]", peer)
    types = spec.get("policyTypes", [])
    if len(types) > 2:
        yield invalid("spec.policyTypes", types, "may not specify more than two policyTypes")
        return
    for index, kind in enumerate(types):
        yield from one_of(f"spec.policyTypes[{index}]", kind, ("Egress", "Ingress"))


def _check_policy_port(field: str, port: Json) -> Iterator[StatusCause]:
    yield from one_of(f"{field}.protocol", port.get("protocol"), PROTOCOLS)
    if "port" in port:
        yield from port_number_or_name(f"{field}.port", port["port"])
    end = port.get("endPort")
    if end is None:
        return
    if isinstance(port.get("port"), str):
        yield invalid(f"{field}.endPort", end, "may not be specified when `port` is non-numeric")
    elif "port" not in port:
        yield required(f"{field}.port", "must be specified when `endPort` is specified")
    else:
        if end < port["port"]:
            yield invalid(
                f"{field}.endPort", port["port"], "must be greater than or equal to `port`"
            )
        yield from port_number(f"{field}.endPort", end)


def _check_peer(field: str, peer: Json) -> Iterator[StatusCause]:
    if not peer:
        yield required(field, "must specify a peer")
    for name in ("podSelector", "namespaceSelector"):
        if name in peer:
            yield from label_selector(f"{field}.{name}", peer[name])
    if "ipBlock" not in peer:
        return
    if len(peer) > 1:
        yield forbidden(field, "may not specify both ipBlock and another peer")
    if not peer["ipBlock"].get("cidr"):
        yield required(f"{field}.ipBlock.cidr")
        return
    yield from network(f"{field}.ipBlock.cidr", peer["ipBlock"]["cidr"])
    for index, part in enumerate(peer["ipBlock"].get("except", ())):
        yield from network(f"{field}.ipBlock.except[{index}]", part)


def check_endpoint_slice(slice_: Json) -> Iterator[StatusCause]:
    """Check an EndpointSlice."""
    kind = slice_.get("addressType", "")
    yield from one_of("addressType", kind, ("FQDN", "IPv4", "IPv6"))
    for index, endpoint in enumerate(slice_.get("endpoints") or ()):
        field = f"endpoints[{index}].addresses"
        addresses = endpoint.get("addresses") or []
        if not addresses:
            yield required(field, "must contain at least 1 address")
        for number, value in enumerate(addresses):
            yield from _check_address(field, number, value, kind)
    for index, port in enumerate(slice_.get("ports") or ()):
        if port.get("protocol"):
            yield from one_of(f"ports[{index}].protocol", port["protocol"], PROTOCOLS)


def _check_address(field: str, number: int, value: str, kind: str) -> Iterator[StatusCause]:
    at = f"{field}[{number}]"
    if kind == "FQDN":
        yield from subdomain(at, value)
        return
    wrong = list(address(at, value))
    yield from wrong
    if wrong or kind not in ("IPv4", "IPv6"):
        return
    if f"IPv{ip_address(value).version}" != kind:
        yield invalid(field, value, f"must be an {kind} address")
    yield from _check_reachable(at, value)


def _check_reachable(field: str, value: str) -> Iterator[StatusCause]:
    found = ip_address(value)
    if found.is_unspecified:
        yield invalid(field, value, f"may not be unspecified ({value})")
    if found.is_loopback:
        yield invalid(field, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if found.is_link_local:
        yield invalid(
            field, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
        )


def check_endpoints(endpoints: Json) -> Iterator[StatusCause]:
    """Check Endpoints."""
    for index, subset in enumerate(endpoints.get("subsets", ())):
        field = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            yield required(field, "must specify `addresses` or `notReadyAddresses`")
        for part in ("addresses", "notReadyAddresses"):
            for number, entry in enumerate(subset.get(part, ())):
                yield from _check_endpoint(f"{field}.{part}[{number}].ip", entry.get("ip", ""))
        ports = subset.get("ports", [])
        for number, port in enumerate(ports):
            at = f"{field}.ports[{number}]"
            if port.get("name"):
                yield from label(f"{at}.name", port["name"])
            elif len(ports) > 1:
                yield required(f"{at}.name")
            yield from port_number(f"{at}.port", port.get("port", 0))
            yield from one_of(f"{at}.protocol", port.get("protocol"), PROTOCOLS)


def _check_endpoint(field: str, value: str) -> Iterator[StatusCause]:
    wrong = list(address(field, value))
    if wrong:  # two rules of the real server report the same error
        yield from [*wrong, invalid(field, value, "must be a valid IP address")]
    else:
        yield from _check_reachable(field, value)
