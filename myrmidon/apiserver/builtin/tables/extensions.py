"""Tables of webhook configurations, admission policies, APIServices and flow control."""

from datetime import datetime
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.tables import cells


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


PRINTERS = {
    "MutatingWebhookConfiguration": _webhooks,
    "ValidatingWebhookConfiguration": _webhooks,
    "MutatingAdmissionPolicy": _admission_policy,
    "ValidatingAdmissionPolicy": _admission_policy,
    "MutatingAdmissionPolicyBinding": _admission_binding,
    "ValidatingAdmissionPolicyBinding": _admission_binding,
    "APIService": _api_service,
    "FlowSchema": _flow_schema,
    "PriorityLevelConfiguration": _priority_level,
}
