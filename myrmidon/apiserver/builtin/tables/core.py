"""Tables of the core group, apart from pods and storage."""

from datetime import datetime
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.tables import cells
from myrmidon.apiserver.resources.tables import since

_ROLE_PREFIX = "node-role.kubernetes.io/"


def _config_map(config_map: Json, now: datetime) -> list[Any]:
    count = len(config_map.get("data", {})) + len(config_map.get("binaryData", {}))
    return [cells.name(config_map), count, cells.age(config_map, now)]


def _secret(secret: Json, now: datetime) -> list[Any]:
    count = len(secret.get("data", {}))
    return [cells.name(secret), secret.get("type", ""), count, cells.age(secret, now)]


def _namespace(namespace: Json, now: datetime) -> list[Any]:
    phase = namespace.get("status", {}).get("phase", "")
    return [cells.name(namespace), phase, cells.age(namespace, now)]


def _service_account(account: Json, now: datetime) -> list[Any]:
    return [cells.name(account), cells.age(account, now)]


def _service(service: Json, now: datetime) -> list[Any]:
    spec = service["spec"]
    ports = ",".join(_port(port) for port in spec.get("ports", ()))
    return [
        cells.name(service),
        spec.get("type", ""),
        (spec.get("clusterIPs") or [cells.NONE])[0],
        _external(service),
        ports or cells.NONE,
        cells.age(service, now),
        cells.labels(spec.get("selector")),
    ]


def _port(port: Json) -> str:
    opened = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{opened}/{port.get('protocol', '')}"


def _external(service: Json) -> str:
    spec = service["spec"]
    given = list(spec.get("externalIPs", ()))
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(given) or cells.NONE
        case "LoadBalancer":
            return ",".join([*balanced(service), *given]) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case _:
            return "<unknown>"


def balanced(obj: Json) -> list[str]:
    """Return the addresses of a load balancer, sorted."""
    ingress = obj.get("status", {}).get("loadBalancer", {}).get("ingress", ())
    return sorted({point.get("ip") or point.get("hostname", "") for point in ingress} - {""})


def _node(node: Json, now: datetime) -> list[Any]:
    status = node.get("status", {})
    machine = status.get("nodeInfo", {})
    kernel = machine.get("kernelVersion") or "<unknown>"
    if machine.get("architecture"):
        kernel += f" ({machine['architecture']})"
    return [
        cells.name(node),
        _node_state(node),
        ",".join(_roles(node["metadata"].get("labels", {}))) or cells.NONE,
        cells.age(node, now),
        machine.get("kubeletVersion", ""),
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        machine.get("osImage") or "<unknown>",
        kernel,
        machine.get("containerRuntimeVersion") or "<unknown>",
    ]


def _node_state(node: Json) -> str:
    states = [
        "Ready" if condition.get("status") == "True" else "NotReady"
        for condition in node.get("status", {}).get("conditions", ())
        if condition.get("type") == "Ready"
    ]
    if node["spec"].get("unschedulable"):
        return ",".join([*(states or ["Unknown"]), "SchedulingDisabled"])
    return ",".join(states or ["Unknown"])


def _roles(labels: Json) -> list[str]:
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(labels.get("kubernetes.io/role", ""))
    return sorted(roles - {""})


def _address(status: Json, kind: str) -> str:
    addresses = status.get("addresses", ())
    found = (entry["address"] for entry in addresses if entry.get("type") == kind)
    return str(next(found, cells.NONE))


def _event(event: Json, now: datetime) -> list[Any]:
    # An Event has the field names of its group.
    about = event.get("involvedObject") or event.get("regarding") or {}
    source = event.get("source") or event.get("deprecatedSource") or {}
    first = event.get("firstTimestamp") or event.get("deprecatedFirstTimestamp")
    first = first or event.get("eventTime")
    last = event.get("lastTimestamp") or event.get("deprecatedLastTimestamp") or first
    count = event.get("count") or event.get("deprecatedCount") or 1
    series = event.get("series")
    if series:
        last, count = series.get("lastObservedTime"), series.get("count", 0)
    reporter = event.get("reportingComponent") or event.get("reportingController") or ""
    parts = [
        source.get("component") or reporter,
        source.get("host") or event.get("reportingInstance") or "",
    ]
    kind = about.get("kind", "").lower()
    return [
        since(last, now),
        event.get("type", ""),
        event.get("reason", ""),
        f"{kind}/{about['name']}" if about.get("name") else kind,
        about.get("fieldPath", ""),
        ", ".join(parts) if parts[1] else parts[0],
        (event.get("message") or event.get("note") or "").strip(),
        since(first, now),
        count,
        cells.name(event),
    ]


def _endpoints(endpoints: Json, now: datetime) -> list[Any]:
    listed = []
    for subset in endpoints.get("subsets", ()):
        addresses = [entry.get("ip", "") for entry in subset.get("addresses", ())]
        ports = subset.get("ports", [])
        listed += [f"{ip}:{port.get('port', 0)}" for port in ports for ip in addresses]
        listed += [] if ports else addresses
    shown = cells.some(listed, 3, empty=cells.NONE if not endpoints.get("subsets") else "")
    return [cells.name(endpoints), shown, cells.age(endpoints, now)]


def _resource_quota(quota: Json, now: datetime) -> list[Any]:
    status = quota.get("status", {})
    columns: dict[bool, list[str]] = {True: [], False: []}
    for name, hard in sorted(status.get("hard", {}).items()):
        used = status.get("used", {}).get(name, "0")
        columns[name.startswith("limits.")].append(f"{name}: {used}/{hard}")
    requests, limits = ", ".join(columns[False]), ", ".join(columns[True])
    return [cells.name(quota), requests, limits, cells.age(quota, now)]


PRINTERS = {
    "ConfigMap": _config_map,
    "Secret": _secret,
    "Namespace": _namespace,
    "ServiceAccount": _service_account,
    "Service": _service,
    "Node": _node,
    "Event": _event,
    "Endpoints": _endpoints,
    "ResourceQuota": _resource_quota,
}
