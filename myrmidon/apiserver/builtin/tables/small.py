"""Networking, access, policies and extensions."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from myrmidon.api.objects import Json
from myrmidon.apiserver.builtin.conversion import autoscaler_to_v2
from myrmidon.apiserver.builtin.tables import cells
from myrmidon.apiserver.builtin.tables.core import balanced
from myrmidon.apiserver.resources.tables import human_duration

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


def _lease(lease: Json, now: datetime) -> list[Any]:
    holder = lease["spec"].get("holderIdentity", "")
    return [cells.name(lease), holder, cells.age(lease, now)]


def _binding(binding: Json, now: datetime) -> list[Any]:
    role = binding["roleRef"]
    people: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in binding.get("subjects", ()):
        name = subject.get("name", "")
        if subject.get("kind") == "ServiceAccount":
            name = f"{subject.get('namespace', '')}/{name}"
        people.setdefault(subject.get("kind", ""), []).append(name)
    return [
        cells.name(binding),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        cells.age(binding, now),
        *(", ".join(people[kind]) for kind in ("User", "Group", "ServiceAccount")),
    ]


def _autoscaler(autoscaler: Json, now: datetime) -> list[Any]:
    if autoscaler.get("apiVersion") == "autoscaling/v1":
        autoscaler = autoscaler_to_v2(autoscaler)
    spec, status = autoscaler["spec"], autoscaler.get("status", {})
    target = spec.get("scaleTargetRef", {})
    return [
        cells.name(autoscaler),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        cells.some(_targets(spec, status), 2, separator=", ", empty=cells.NONE),
        str(spec["minReplicas"]) if "minReplicas" in spec else cells.UNSET,
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        cells.age(autoscaler, now),
    ]


def _targets(spec: Json, status: Json) -> Iterator[str]:
    reported = status.get("currentMetrics") or []
    for index, metric in enumerate(spec.get("metrics", ())):
        yield _target(metric, reported[index] if index < len(reported) else {})


def _target(metric: Json, reported: Json) -> str:
    kind = metric.get("type", "")
    field = kind[:1].lower() + kind[1:]
    target = metric.get(field, {}).get("target", {})
    current = reported.get(field, {}).get("current", {})
    named = f"{metric.get(field, {}).get('name', '')}: " if kind.endswith("Resource") else ""
    if "averageValue" in target:
        suffix = " (avg)" if kind in ("External", "Object") else ""
        value = current.get("averageValue", "<unknown>")
        return f"{named}{value}/{target['averageValue']}{suffix}"
    if named:
        now = current.get("averageUtilization")
        goal = target.get("averageUtilization")
        shown = f"{now}%" if now is not None else "<unknown>"
        return f"{named}{shown}/{f'{goal}%' if goal is not None else '<auto>'}"
    return f"{current.get('value', '<unknown>')}/{target.get('value', '')}"


def _budget(budget: Json, now: datetime) -> list[Any]:
    spec = budget["spec"]
    return [
        cells.name(budget),
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        budget.get("status", {}).get("disruptionsAllowed", 0),
        cells.age(budget, now),
    ]


def _priority_class(priority: Json, now: datetime) -> list[Any]:
    return [
        cells.name(priority),
        priority.get("value", 0),
        priority.get("globalDefault", False),
        cells.age(priority, now),
        priority.get("preemptionPolicy", ""),
    ]


def _runtime_class(runtime: Json, now: datetime) -> list[Any]:
    return [cells.name(runtime), runtime.get("handler", ""), cells.age(runtime, now)]


def _webhooks(configuration: Json, now: datetime) -> list[Any]:
    count = len(configuration.get("webhooks", ()))
    return [cells.name(configuration), count, cells.age(configuration, now)]


def _admission_policy(policy: Json, now: datetime) -> list[Any]:
    spec = policy["spec"]
    kind = spec.get("paramKind")
    shown = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else cells.UNSET
    count = len(spec.get("validations", spec.get("mutations", ())))
    return [cells.name(policy), count, shown, cells.age(policy, now)]


def _admission_binding(binding: Json, now: datetime) -> list[Any]:
    spec = binding["spec"]
    reference = spec.get("paramRef") or {}
    shown = cells.UNSET
    if reference.get("name"):
        shown = f"{reference.get('namespace') or '*'}/{reference['name']}"
    return [cells.name(binding), spec.get("policyName", ""), shown, cells.age(binding, now)]


def _api_service(service: Json, now: datetime) -> list[Any]:
    reference = service["spec"].get("service")
    shown = f"{reference['namespace']}/{reference['name']}" if reference else "Local"
    available = "Unknown"
    for condition in service.get("status", {}).get("conditions", ()):
        if condition.get("type") == "Available":
            available = condition.get("status", "")
            if available != "True":
                available = f"{available} ({condition.get('reason', '')})"
    return [cells.name(service), shown, available, cells.age(service, now)]


def _signing_request(request: Json, now: datetime) -> list[Any]:
    spec, status = request["spec"], request.get("status", {})
    types = {condition.get("type") for condition in status.get("conditions", ())}
    states = ["Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"]
    states += ["Failed"] if "Failed" in types else []
    states += ["Issued"] if status.get("certificate") else []
    seconds = spec.get("expirationSeconds")
    return [
        cells.name(request),
        cells.age(request, now),
        spec.get("signerName") or cells.NONE,
        spec.get("username", ""),
        human_duration(seconds) if seconds is not None else cells.NONE,
        ",".join(states),
    ]


def _flow_schema(schema: Json, now: datetime) -> list[Any]:
    spec = schema["spec"]
    dangling = [
        condition.get("status", "?")
        for condition in schema.get("status", {}).get("conditions", ())
        if condition.get("type") == "Dangling"
    ]
    return [
        cells.name(schema),
        spec.get("priorityLevelConfiguration", {}).get("name", ""),
        spec.get("matchingPrecedence", 0),
        spec.get("distinguisherMethod", {}).get("type", cells.NONE),
        cells.age(schema, now),
        dangling[0] if dangling else "?",
    ]


def _priority_level(level: Json, now: datetime) -> list[Any]:
    limited = level["spec"].get("limited", {})
    queuing = limited.get("limitResponse", {}).get("queuing", {})
    return [
        cells.name(level),
        level["spec"].get("type", ""),
        limited.get("nominalConcurrencyShares", cells.NONE),
        *(queuing.get(name, cells.NONE) for name in ("queues", "handSize", "queueLengthLimit")),
        cells.age(level, now),
    ]


def _name_and_age(obj: Json, now: datetime) -> list[Any]:
    return [cells.name(obj), cells.age(obj, now)]


def _resource_claim(claim: Json, now: datetime) -> list[Any]:
    status = claim.get("status", {})
    states = ["deleted"] if claim["metadata"].get("deletionTimestamp") else []
    if "allocation" in status:
        states += ["allocated", *(["reserved"] if status.get("reservedFor") else [])]
    return [cells.name(claim), ",".join(states or ["pending"]), cells.age(claim, now)]


def _resource_slice(slice_: Json, now: datetime) -> list[Any]:
    spec = slice_["spec"]
    pool = spec.get("pool", {}).get("name", "")
    where = [spec.get("nodeName", ""), spec.get("driver", ""), pool]
    return [cells.name(slice_), *where, cells.age(slice_, now)]


PRINTERS = {
    "Ingress": _ingress,
    "IngressClass": _ingress_class,
    "NetworkPolicy": _network_policy,
    "EndpointSlice": _endpoint_slice,
    "IPAddress": _ip_address,
    "ServiceCIDR": _service_cidr,
    "Lease": _lease,
    "RoleBinding": _binding,
    "ClusterRoleBinding": _binding,
    "HorizontalPodAutoscaler": _autoscaler,
    "PodDisruptionBudget": _budget,
    "PriorityClass": _priority_class,
    "RuntimeClass": _runtime_class,
    "MutatingWebhookConfiguration": _webhooks,
    "ValidatingWebhookConfiguration": _webhooks,
    "MutatingAdmissionPolicy": _admission_policy,
    "ValidatingAdmissionPolicy": _admission_policy,
    "MutatingAdmissionPolicyBinding": _admission_binding,
    "ValidatingAdmissionPolicyBinding": _admission_binding,
    "APIService": _api_service,
    "CertificateSigningRequest": _signing_request,
    "FlowSchema": _flow_schema,
    "PriorityLevelConfiguration": _priority_level,
    "DeviceClass": _name_and_age,
    "ResourceClaimTemplate": _name_and_age,
    "ResourceClaim": _resource_claim,
    "ResourceSlice": _resource_slice,
}
