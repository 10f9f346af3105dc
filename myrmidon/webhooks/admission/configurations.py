"""Webhook configurations: how the API server is told which webhook to call for which write.

One function for all: ``generate`` writes them for a Service, ``myrmidon run --webhook-url`` installs
them with a URL, and the harness with an address of its own, so that tests go through the same rules
as a cluster.

The rules are minimal: the operations, the version and the resource that a method is declared for, no
subresources, no wildcards.  Webhooks have no side effects, because validators can only read, so the
server calls them for dry runs as well.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.api.requests.selectors import Requirement, parse_selector
from myrmidon.errors import DefinitionError
from myrmidon.webhooks.admission.webhooks import Webhook

_OPERATORS = {
    "=": "In",
    "in": "In",
    "!=": "NotIn",
    "notin": "NotIn",
    "exists": "Exists",
    "absent": "DoesNotExist",
}
NAMESPACE_LABEL = "kubernetes.io/metadata.name"


def configurations(
    webhooks: Iterable[Webhook],
    name: str,
    client_config: Callable[[Webhook], Json],
    *,
    without_namespaces: Sequence[str] = (),
    metadata: Json | None = None,
) -> list[Json]:
    """Return the MutatingWebhookConfiguration and the ValidatingWebhookConfiguration, if needed.

    ``without_namespaces``: webhooks of kinds that this program does not define, and that have no
    ``namespace_selector``, are not called for these namespaces.  The program's own namespace belongs
    here: its pods and Secrets must not wait for a webhook that these pods serve.
    """
    found = list(webhooks)
    made: list[Json] = []
    for role, kind in (
        ("default", kinds.MUTATING_WEBHOOK_CONFIGURATION),
        ("validate", kinds.VALIDATING_WEBHOOK_CONFIGURATION),
    ):
        chosen = [each for each in found if each.role == role]
        if chosen:
            made.append(
                {
                    "apiVersion": kind.api_version,
                    "kind": kind.kind,
                    "metadata": {"name": name, **(metadata or {})},
                    "webhooks": [
                        _entry(each, client_config(each), without_namespaces) for each in chosen
                    ],
                }
            )
    return made


def configuration_kinds(webhooks: Iterable[Webhook]) -> list[Kind]:
    """Return the kinds of the configurations that these webhooks need."""
    roles = {each.role for each in webhooks}
    return [
        kind
        for role, kind in (
            ("default", kinds.MUTATING_WEBHOOK_CONFIGURATION),
            ("validate", kinds.VALIDATING_WEBHOOK_CONFIGURATION),
        )
        if role in roles
    ]


def label_selector(text: str) -> Json:
    """Return a selector in the words of kubectl as a LabelSelector; ``{}`` selects everything."""
    requirements = parse_selector(text)
    equal = {each.key: each.values[0] for each in requirements if each.operator in ("=", "==")}
    others = [_expression(each) for each in requirements if each.operator not in ("=", "==")]
    made: Json = {}
    if equal:
        made["matchLabels"] = equal
    if others:
        made["matchExpressions"] = others
    return made


def _expression(requirement: Requirement) -> Json:
    operator = _OPERATORS.get(requirement.operator)
    if operator is None:
        raise DefinitionError(
            f"the selector {requirement} compares numbers, which a webhook cannot do.\n"
            "  fix: use =, !=, in, notin, a key alone, or a match condition"
        )
    made: Json = {"key": requirement.key, "operator": operator}
    if requirement.values:
        made["values"] = list(requirement.values)
    return made


def _entry(webhook: Webhook, client_config: Json, without: Sequence[str]) -> Json:
    kind, terms = webhook.kind, webhook.terms
    made: dict[str, Any] = {
        "name": webhook.name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": client_config,
        "rules": [
            {
                "apiGroups": [kind.group],
                "apiVersions": [kind.version],
                "operations": [each.upper() for each in webhook.operations],
                "resources": [kind.plural],
                "scope": "Namespaced" if kind.namespaced else "Cluster",
            }
        ],
        "failurePolicy": terms.failure_policy,
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": terms.timeout_seconds,
    }
    namespaces = label_selector(terms.namespace_selector)
    if not namespaces and without and kind.namespaced and not webhook.is_own:
        expression = {"key": NAMESPACE_LABEL, "operator": "NotIn", "values": list(without)}
        namespaces = {"matchExpressions": [expression]}
    if namespaces:
        made["namespaceSelector"] = namespaces
    if terms.object_selector:
        made["objectSelector"] = label_selector(terms.object_selector)
    if terms.match_conditions:
        made["matchConditions"] = [
            {"name": name, "expression": expression} for name, expression in terms.match_conditions
        ]
    if webhook.role == "default":
        made["reinvocationPolicy"] = "IfNeeded"
    return made
