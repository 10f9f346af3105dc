"""Defaults of webhook configurations, admission policies and CustomResourceDefinitions."""

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.defaults.completions import Completion, fill


def _definition(definition: Json) -> None:
    if not definition["status"].get("storedVersions"):
        versions = definition["spec"].get("versions") or ()
        stored = [version["name"] for version in versions if version.get("storage")]
        if stored:
            definition["status"]["storedVersions"] = stored[:1]


def _definition_spec(spec: Json) -> None:
    names = spec["names"]
    kind = names.get("kind", "")
    if kind:
        fill(singular=kind.lower(), listKind=f"{kind}List")(names)
    spec.setdefault("conversion", {"strategy": "None"})


_WEBHOOK = fill(
    failurePolicy="Fail",
    matchPolicy="Equivalent",
    namespaceSelector={},
    objectSelector={},
    timeoutSeconds=10,
)


def _mutating_webhook(webhook: Json) -> None:
    _WEBHOOK(webhook)
    fill(reinvocationPolicy="Never")(webhook)


_EXTENSIONS = "apiextensions-apiserver.pkg.apis.apiextensions.v1."

EXTENSIONS: dict[str, Completion] = {
    "api.admissionregistration.v1.ValidatingWebhook": _WEBHOOK,
    "api.admissionregistration.v1.MutatingWebhook": _mutating_webhook,
    "api.admissionregistration.v1.RuleWithOperations": fill(scope="*"),
    "api.admissionregistration.v1.NamedRuleWithOperations": fill(scope="*"),
    "api.admissionregistration.v1.ServiceReference": fill(port=443),
    "api.admissionregistration.v1.ValidatingAdmissionPolicySpec": fill(failurePolicy="Fail"),
    "api.admissionregistration.v1.MutatingAdmissionPolicySpec": fill(failurePolicy="Fail"),
    "api.admissionregistration.v1.MatchResources": fill(
        matchPolicy="Equivalent", namespaceSelector={}, objectSelector={}
    ),
    _EXTENSIONS + "CustomResourceDefinition": _definition,
    _EXTENSIONS + "CustomResourceDefinitionSpec": _definition_spec,
    _EXTENSIONS + "ServiceReference": fill(port=443),
}
