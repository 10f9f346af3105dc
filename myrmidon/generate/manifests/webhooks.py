"""The manifests that webhooks need: configurations, Service, NetworkPolicy, roles, certificates.

::

    webhooks/configurations.yaml   which writes the API server sends to which webhook
    webhooks/service.yaml          through which it reaches the pods
    webhooks/network-policy.yaml   that it may reach them, and which other ports are open
    webhooks/certificate.yaml      only with cert-manager
    webhooks/policies.yaml         CEL rules of Admission classes, which need no webhook
    rbac/webhooks.yaml             to keep the certificates, and to read what validators read

Certificates are managed by the program, or by cert-manager (``Packaging.webhook_certificates``):
then the program only reads the files of a mounted Secret.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.typed.object_types import kind_of
from myrmidon.generate.manifests import deploy
from myrmidon.generate.manifests.packaging import Packaging
from myrmidon.generate.manifests.rbac import Rights, binding, role_of
from myrmidon.webhooks.admission.configurations import (
    configuration_kinds,
    configurations,
    label_selector,
)
from myrmidon.webhooks.admission.rules import Admission
from myrmidon.webhooks.admission.webhooks import Webhook
from myrmidon.webhooks.versions import CONVERT_PATH

CONFIGURATIONS = "webhooks/configurations.yaml"
SERVICE = "webhooks/service.yaml"
NETWORK_POLICY = "webhooks/network-policy.yaml"
CERTIFICATE = "webhooks/certificate.yaml"
POLICIES = "webhooks/policies.yaml"
ROLES = "rbac/webhooks.yaml"
_CERT_MANAGER = "cert-manager.io/v1"
_OTHER_NAMESPACES = ("kube-system",)


def webhook_files(packaging: Packaging) -> dict[str, list[Json]]:
    """Return the manifests of the webhooks and policies, by path; none if there are none."""
    found: dict[str, list[Json]] = {}
    if packaging.serves_webhooks:
        found[SERVICE] = [service(packaging)]
        found[NETWORK_POLICY] = [network_policy(packaging)]
        if packaging.webhooks:
            found[CONFIGURATIONS] = webhook_configurations(packaging)
        if packaging.webhook_certificates == "cert-manager":
            found[CERTIFICATE] = certificate(packaging)
    policies = [each for admission in packaging.admissions for each in policy(admission)]
    if policies:
        found[POLICIES] = policies
    return found


def webhook_configurations(packaging: Packaging) -> list[Json]:
    """Return the webhook configurations; the CA bundle is injected in the cluster."""
    metadata: Json = {"labels": packaging.labels}
    if packaging.webhook_certificates == "cert-manager":
        metadata["annotations"] = injected_by_cert_manager(packaging)

    def through_service(webhook: Webhook) -> Json:
        return {
            "service": {
                "name": packaging.webhook_service,
                "namespace": packaging.namespace,
                "path": webhook.path,
                "port": 443,
            }
        }

    return configurations(
        packaging.webhooks,
        packaging.name,
        through_service,
        without_namespaces=(packaging.namespace, *_OTHER_NAMESPACES),
        metadata=metadata,
    )


def injected_by_cert_manager(packaging: Packaging) -> dict[str, str]:
    """Return the annotation by which cert-manager injects its CA bundle."""
    source = f"{packaging.namespace}/{packaging.webhook_service}"
    return {"cert-manager.io/inject-ca-from": source}


def service(packaging: Packaging) -> Json:
    """Return the Service through which the API server reaches the webhooks."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": packaging.webhook_service,
            "namespace": packaging.namespace,
            "labels": packaging.labels,
        },
        "spec": {
            "selector": packaging.labels,
            "ports": [
                {"name": "webhooks", "port": 443, "targetPort": "webhooks", "protocol": "TCP"}
            ],
        },
    }


def network_policy(packaging: Packaging) -> Json:
    """Return the NetworkPolicy: webhooks, metrics and probes can be reached, and nothing else.

    The API server is not a pod, so it cannot be selected; the port is open to every address.
    """
    ports = (deploy.WEBHOOK_PORT, deploy.METRICS_PORT, deploy.HEALTH_PORT)
    return {
        "apiVersion": kinds.NETWORK_POLICY.api_version,
        "kind": kinds.NETWORK_POLICY.kind,
        "metadata": {
            "name": packaging.name,
            "namespace": packaging.namespace,
            "labels": packaging.labels,
        },
        "spec": {
            "podSelector": {"matchLabels": packaging.labels},
            "policyTypes": ["Ingress"],
            "ingress": [{"ports": [{"port": port, "protocol": "TCP"} for port in ports]}],
        },
    }


def certificate(packaging: Packaging) -> list[Json]:
    """Return the Issuer and the Certificate of cert-manager."""
    name, namespace = packaging.webhook_service, packaging.namespace
    metadata = {"name": name, "namespace": namespace, "labels": packaging.labels}
    return [
        {
            "apiVersion": _CERT_MANAGER,
            "kind": "Issuer",
            "metadata": metadata,
            "spec": {"selfSigned": {}},
        },
        {
            "apiVersion": _CERT_MANAGER,
            "kind": "Certificate",
            "metadata": metadata,
            "spec": {
                "dnsNames": [f"{name}.{namespace}.svc", f"{name}.{namespace}.svc.cluster.local"],
                "issuerRef": {"kind": "Issuer", "name": name},
                "secretName": name,
            },
        },
    ]


def webhook_roles(packaging: Packaging, definitions: Iterable[Json]) -> list[Json]:
    """Return the roles, with their bindings; ``definitions`` are the CRDs of the program."""
    rights = Rights()
    managed = packaging.webhook_certificates == "managed"
    verbs = ("get", "update") if managed else ("get",)
    for kind in configuration_kinds(packaging.webhooks):
        rights.grant(kind, verbs, (), names=(packaging.name,))
    converted = _converted(definitions)
    if converted:
        rights.grant(kinds.CUSTOM_RESOURCE_DEFINITION, verbs, (), names=tuple(converted))
    for webhook in packaging.webhooks:
        for read in webhook.reads:
            wanted = kind_of(read.kind)
            assert wanted is not None, "checked when the method was declared"
            rights.grant(wanted, ("list", "watch") if read.cached else ("get",), read.namespaces)
    if managed:
        own = (packaging.namespace,)
        rights.grant(kinds.SECRET, ("create",), own)
        rights.grant(kinds.SECRET, ("get", "update"), own, names=(packaging.webhook_service,))
    name = f"{packaging.name}-webhooks"
    made = [role_of("ClusterRole", name, "", rights.rules(""))] if rights.rules("") else []
    made += [role_of("Role", name, scope, rights.rules(scope)) for scope in rights.namespaces]
    return [*made, *(binding(role, packaging.name, packaging.namespace) for role in made)]


def _converted(definitions: Iterable[Json]) -> list[str]:
    """Return the names of the definitions with a conversion webhook."""
    return [
        each["metadata"]["name"]
        for each in definitions
        if (each["spec"].get("conversion") or {}).get("strategy") == "Webhook"
    ]


def policy(admission: type[Admission[Any]]) -> list[Json]:
    """Return a ValidatingAdmissionPolicy for the CEL rules of a class, and its binding."""
    if not admission.policy_rules:
        return []
    kind = admission.kind()
    name = f"{_kebab(admission.__name__)}.{kind.plural}.{kind.group or 'core'}"
    rules = [
        {
            key: value
            for key, value in (
                ("expression", rule.rule),
                ("message", rule.message),
                ("messageExpression", rule.message_expression),
            )
            if value
        }
        for rule in admission.policy_rules
    ]
    match: Sequence[Json] = [
        {
            "apiGroups": [kind.group],
            "apiVersions": [kind.version],
            "operations": ["CREATE", "UPDATE"],
            "resources": [kind.plural],
        }
    ]
    return [
        {
            "apiVersion": kinds.VALIDATING_ADMISSION_POLICY.api_version,
            "kind": kinds.VALIDATING_ADMISSION_POLICY.kind,
            "metadata": {"name": name},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": match},
                "validations": rules,
            },
        },
        {
            "apiVersion": kinds.VALIDATING_ADMISSION_POLICY_BINDING.api_version,
            "kind": kinds.VALIDATING_ADMISSION_POLICY_BINDING.kind,
            "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        },
    ]


def olm_webhooks(packaging: Packaging, definitions: Iterable[Json]) -> list[Json]:
    """Return the webhooks as OLM wants them: it makes the Service and the certificate itself.

    ``definitions`` are the CRDs of the program; OLM writes its Service into those that convert.
    """
    common: Json = {
        "containerPort": 443,
        "targetPort": deploy.WEBHOOK_PORT,
        "deploymentName": packaging.name,
    }
    types = {"default": "MutatingAdmissionWebhook", "validate": "ValidatingAdmissionWebhook"}
    found: list[Json] = []
    for webhook, entry in zip(
        sorted(packaging.webhooks, key=lambda each: each.role),
        (each for made in webhook_configurations(packaging) for each in made["webhooks"]),
        strict=True,
    ):
        made: Json = {
            "type": types[webhook.role],
            "admissionReviewVersions": entry["admissionReviewVersions"],
            **common,
            "failurePolicy": entry["failurePolicy"],
            "generateName": webhook.name,
            "rules": entry["rules"],
            "sideEffects": entry["sideEffects"],
            "timeoutSeconds": entry["timeoutSeconds"],
            "webhookPath": webhook.path,
        }
        if webhook.terms.object_selector:
            made["objectSelector"] = label_selector(webhook.terms.object_selector)
        found.append(made)
    converted = _converted(definitions)
    if converted:
        made = {
            "type": "ConversionWebhook",
            "admissionReviewVersions": ["v1"],
            **common,
            "conversionCRDs": converted,
            "generateName": f"convert.{packaging.name}",
            "sideEffects": "None",
            "webhookPath": CONVERT_PATH,
        }
        found.append(made)
    return found


def _kebab(name: str) -> str:
    return "".join(f"-{each.lower()}" if each.isupper() else each for each in name).lstrip("-")
