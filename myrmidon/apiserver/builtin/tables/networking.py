"""Tables of Ingresses, NetworkPolicies, EndpointSlices and IP addresses."""

from datetime import datetime
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.tables import cells
from myrmidon.apiserver.builtin.tables.core import balanced

_DEFAULT_INGRESS = "ingressclass.kubernetes.io/is-default-class"


def _ingress(ingress: Json, now: datetime) -> list[Any]:
    spec = ingress["spec"]
    hosts = [rule["host"] for rule in spec.get("rules", ()) if rule.get("host")]
    return [
        cells.name(ingress),
        spec.get("ingressClassName", cells.NONE),
        cells.some(hosts, 3, empty="*"),
        ",".join(balanced(ingress)),
        "80, 443" if spec.get("tls") else "80",
        cells.age(ingress, now),
    ]


def _ingress_class(ingress_class: Json, now: datetime) -> list[Any]:
    spec, meta = ingress_class["spec"], ingress_class["metadata"]
    default = meta.get("annotations", {}).get(_DEFAULT_INGRESS) == "true"
    parameters = spec.get("parameters")
    shown = cells.NONE
    if parameters:
        group = f".{parameters['apiGroup']}" if "apiGroup" in parameters else ""
        shown = f"{parameters.get('kind', '')}{group}/{parameters.get('name', '')}"
    name = cells.name(ingress_class) + (" (default)" if default else "")
    return [name, spec.get("controller", ""), shown, cells.age(ingress_class, now)]


def _network_policy(policy: Json, now: datetime) -> list[Any]:
    shown = cells.selector(policy["spec"].get("podSelector"))
    return [cells.name(policy), shown, cells.age(policy, now)]


def _endpoint_slice(slice_: Json, now: datetime) -> list[Any]:
    ports = [str(port.get("port") or port.get("name") or "*") for port in slice_.get("ports") or ()]
    addresses = [
        address
        for endpoint in slice_.get("endpoints") or ()
        for address in endpoint.get("addresses") or ()
    ]
    return [
        cells.name(slice_),
        slice_.get("addressType", ""),
        cells.some(ports, 3),
        cells.some(addresses, 3),
        cells.age(slice_, now),
    ]


def _ip_address(address: Json, now: datetime) -> list[Any]:
    parent = address["spec"].get("parentRef")
    if not parent:
        return [cells.name(address), cells.NONE, cells.age(address, now)]
    resource = parent.get("resource", "")
    group = f".{parent['group']}" if parent.get("group") else ""
    where = [f"{resource}{group}".lower(), parent.get("namespace", ""), parent.get("name", "")]
    shown = "/".join(part for part in where if part)
    return [cells.name(address), shown, cells.age(address, now)]


def _service_cidr(cidr: Json, now: datetime) -> list[Any]:
    return [cells.name(cidr), ",".join(cidr["spec"].get("cidrs", ())), cells.age(cidr, now)]


PRINTERS = {
    "Ingress": _ingress,
    "IngressClass": _ingress_class,
    "NetworkPolicy": _network_policy,
    "EndpointSlice": _endpoint_slice,
    "IPAddress": _ip_address,
    "ServiceCIDR": _service_cidr,
}
