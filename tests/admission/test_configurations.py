"""Webhook configurations have minimal rules, and the terms that are declared."""

from datetime import timedelta

import pytest
from kubernetes_asyncio.client import V1Node, V1Pod

from myrmidon.api import Json
from myrmidon.api.objects import kinds
from myrmidon.errors import DefinitionError
from myrmidon.webhooks.admission import Admission, validates
from myrmidon.webhooks.admission.configurations import (
    configuration_kinds,
    configurations,
    label_selector,
)
from myrmidon.webhooks.admission.webhooks import Subject, Webhook, webhooks_of
from tests.admission.apps import App, ConfigMapRules


def made(*subjects: Subject, without: tuple[str, ...] = ()) -> list[Json]:
    """Return the configurations of classes."""
    found = [each for subject in subjects for each in webhooks_of(subject)]

    def url(webhook: Webhook) -> Json:
        return {"url": f"https://example.com{webhook.path}"}

    return configurations(found, "demo", url, without_namespaces=without)


def test_a_class_with_both_gets_two_configurations() -> None:
    """Defaults in the mutating one, validators in the validating one."""
    mutating, validating = made(App)

    assert mutating["kind"] == "MutatingWebhookConfiguration"
    assert validating == {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "demo"},
        "webhooks": [
            {
                "name": "validate.apps.demo.example.com",
                "admissionReviewVersions": ["v1"],
                "clientConfig": {"url": "https://example.com/validate/demo.example.com/v1/apps"},
                "rules": [
                    {
                        "apiGroups": ["demo.example.com"],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE", "UPDATE", "DELETE"],
                        "resources": ["apps"],
                        "scope": "Namespaced",
                    }
                ],
                "failurePolicy": "Fail",
                "matchPolicy": "Equivalent",
                "sideEffects": "None",
                "timeoutSeconds": 5,
            }
        ],
    }
    assert mutating["webhooks"][0]["reinvocationPolicy"] == "IfNeeded"
    assert configuration_kinds(webhooks_of(App)) == [
        kinds.MUTATING_WEBHOOK_CONFIGURATION,
        kinds.VALIDATING_WEBHOOK_CONFIGURATION,
    ]
    assert configuration_kinds(()) == []


def test_the_terms_are_in_the_configuration() -> None:
    """Selectors, conditions, failure policy and timeout."""

    class Rules(Admission[V1Pod]):
        @validates(
            on=("create",),
            match_conditions={"not-nodes": "!('system:nodes' in request.userInfo.groups)"},
            namespace_selector="env in (prod,stage),!legacy",
            object_selector="app=shop,tier!=test,owner",
            failure_policy="Ignore",
            timeout=timedelta(seconds=3),
        )
        def check(self, pod: V1Pod) -> None: ...

    (configuration,) = made(Rules, without=("demo",))
    (entry,) = configuration["webhooks"]

    assert entry["name"] == "check.validate.pods.core"
    assert entry["failurePolicy"] == "Ignore"
    assert entry["timeoutSeconds"] == 3
    assert entry["matchConditions"] == [
        {"name": "not-nodes", "expression": "!('system:nodes' in request.userInfo.groups)"}
    ]
    assert entry["namespaceSelector"] == {
        "matchExpressions": [
            {"key": "env", "operator": "In", "values": ["prod", "stage"]},
            {"key": "legacy", "operator": "DoesNotExist"},
        ]
    }
    assert entry["objectSelector"] == {
        "matchLabels": {"app": "shop"},
        "matchExpressions": [
            {"key": "tier", "operator": "NotIn", "values": ["test"]},
            {"key": "owner", "operator": "Exists"},
        ],
    }


def test_a_foreign_kind_is_left_alone_in_the_namespace_of_the_program() -> None:
    """Otherwise the pods that serve the webhook could not start while it is down."""

    class NodeRules(Admission[V1Node]):
        @validates()
        def check(self, node: V1Node) -> None: ...

    _, validating = made(App, ConfigMapRules, NodeRules, without=("demo", "kube-system"))
    selectors = {each["name"]: each.get("namespaceSelector") for each in validating["webhooks"]}

    assert selectors == {
        "validate.apps.demo.example.com": None,
        "validate.configmaps.core": {
            "matchExpressions": [
                {
                    "key": "kubernetes.io/metadata.name",
                    "operator": "NotIn",
                    "values": ["demo", "kube-system"],
                }
            ]
        },
        "validate.nodes.core": None,
    }
    assert validating["webhooks"][2]["rules"][0]["scope"] == "Cluster"


def test_a_selector_that_compares_numbers_is_refused() -> None:
    """The API server does not know it for labels."""
    with pytest.raises(DefinitionError, match="compares numbers"):
        label_selector("size>3")
