"""The paperwork of webhooks: minimal rules and rights, two sources of certificates, one chart."""

from typing import Annotated, Any

import pytest
from kubernetes_asyncio.client import V1Pod
from pydantic import AfterValidator, Field, field_validator, model_validator

from myrmidon import (
    Admission,
    Controller,
    Done,
    Model,
    OutputSet,
    Reads,
    Resource,
    Result,
    Rule,
    Status,
    kinds,
    state,
    validates,
)
from myrmidon.api import Json
from myrmidon.generate import Packaging
from myrmidon.generate.manifests.layout import manifest_files
from myrmidon.generate.manifests.olm import bundle
from myrmidon.generate.manifests.webhooks import webhook_roles
from myrmidon.generate.schema.python_only import python_only
from myrmidon.webhooks.admission.webhooks import Webhook, webhooks_of
from tests.admission.apps import App, ConfigMapRules
from tests.generate.test_helm import AS_GENERATED, generated, installed


class Apps(Controller[App]):
    """Reconciles applications."""

    @state(initial=True, condition="Made")
    def made(self, app: App, out: OutputSet) -> Result:
        """The application is there."""
        return Done()


class PodRules(
    Admission[V1Pod],
    rules=[
        Rule("has(object.metadata.labels.owner)", message="needs an owner"),
        Rule("true", message_expression="'x'"),
    ],
):
    """CEL rules, and a validator that reads."""

    @validates(reads=(kinds.NODE, Reads(kinds.SECRET, cached=False, namespaces=("shop",))))
    def check(self, pod: V1Pod) -> None:
        """Accept it."""


WEBHOOKS: tuple[Webhook, ...] = tuple(
    each for subject in (App, ConfigMapRules, PodRules) for each in webhooks_of(subject)
)


def packaging(**changes: Any) -> Packaging:
    """Return how the program is packaged."""
    return Packaging(
        name="apps",
        namespace="apps-system",
        image="apps:1",
        target=("apps",),
        webhooks=WEBHOOKS,
        admissions=(ConfigMapRules, PodRules),
        **changes,
    )


def container(manifests: dict[str, list[Json]]) -> Json:
    """Return the container of the Deployment."""
    (deployment,) = manifests["deploy/deployment.yaml"]
    (found,) = deployment["spec"]["template"]["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def test_a_program_without_webhooks_gets_no_paperwork_for_them() -> None:
    """Neither files nor ports nor arguments."""
    plain = Packaging(name="apps", namespace="apps-system", image="apps:1", target=("apps",))
    manifests = manifest_files("all", [Apps], plain)

    assert not any("webhook" in path for path in manifests)
    assert not any("webhook" in each for each in container(manifests)["args"])


def test_the_api_server_reaches_the_pods_through_a_service() -> None:
    """Configuration, Service and container port agree."""
    manifests = manifest_files("all", [Apps], packaging())
    (service,) = manifests["webhooks/service.yaml"]
    mutating, validating = manifests["webhooks/configurations.yaml"]
    (policy,) = manifests["webhooks/network-policy.yaml"]

    assert [each["clientConfig"]["service"] for each in validating["webhooks"]] == [
        {
            "name": service["metadata"]["name"],
            "namespace": "apps-system",
            "path": path,
            "port": service["spec"]["ports"][0]["port"],
        }
        for path in (
            "/validate/demo.example.com/v1/apps",
            "/validate/core/v1/configmaps",
            "/validate/core/v1/pods",
        )
    ]
    assert mutating["metadata"]["name"] == validating["metadata"]["name"] == "apps"
    found = container(manifests)
    assert {"name": "webhooks", "containerPort": 9443, "protocol": "TCP"} in found["ports"]
    assert found["args"][-3:-1] == ["--webhook-addr=:9443", "--webhook-name=apps"]
    assert 9443 in [each["port"] for each in policy["spec"]["ingress"][0]["ports"]]


def test_the_roles_are_minimal() -> None:
    """By name where there is one; a validator may read what it declares."""
    made = webhook_roles(
        packaging(),
        [
            {"metadata": {"name": "a"}, "spec": {"conversion": {"strategy": "Webhook"}}},
            {"metadata": {"name": "b"}, "spec": {}},
        ],
    )
    rules = {
        (role["kind"], role["metadata"].get("namespace", "")): role["rules"]
        for role in made
        if "rules" in role
    }

    assert rules == {
        ("ClusterRole", ""): [
            rule("", "nodes", "list", "watch"),
            rule(
                "admissionregistration.k8s.io",
                "mutatingwebhookconfigurations,validatingwebhookconfigurations",
                "get",
                "update",
                names=["apps"],
            ),
            rule("apiextensions.k8s.io", "customresourcedefinitions", "get", "update", names=["a"]),
        ],
        ("Role", "apps-system"): [
            rule("", "secrets", "create"),
            rule("", "secrets", "get", "update", names=["apps-webhooks"]),
        ],
        ("Role", "shop"): [rule("", "secrets", "get")],
    }
    assert sum(each["kind"].endswith("Binding") for each in made) == 3


def rule(group: str, resources: str, *verbs: str, names: list[str] | None = None) -> Json:
    """Return a rule of a role."""
    named = {"resourceNames": names} if names else {}
    return {
        "apiGroups": [group],
        "resources": resources.split(","),
        **named,
        "verbs": list(verbs),
    }


def test_cert_manager_makes_the_certificate_that_the_program_mounts() -> None:
    """Its CA is injected by annotation; the program needs no right to write."""
    chosen = packaging(webhook_certificates="cert-manager")
    manifests = manifest_files("all", [Apps], chosen)
    issuer, certificate = manifests["webhooks/certificate.yaml"]
    mutating, _ = manifests["webhooks/configurations.yaml"]

    assert issuer["spec"] == {"selfSigned": {}}
    assert certificate["spec"]["dnsNames"][0] == "apps-webhooks.apps-system.svc"
    assert mutating["metadata"]["annotations"] == {
        "cert-manager.io/inject-ca-from": "apps-system/apps-webhooks"
    }
    found = container(manifests)
    (mount,) = found["volumeMounts"]
    assert f"--webhook-certs={mount['mountPath']}" in found["args"]
    (volume,) = manifests["deploy/deployment.yaml"][0]["spec"]["template"]["spec"]["volumes"]
    assert volume == {"name": mount["name"], "secret": {"secretName": "apps-webhooks"}}
    verbs = {
        verb
        for role in manifests["rbac/webhooks.yaml"]
        for each in role.get("rules", ())
        for verb in each["verbs"]
    }
    assert verbs == {"get", "list", "watch"}


def test_cel_rules_of_an_admission_become_a_policy() -> None:
    """The server evaluates them; no webhook is called."""
    policy, binding = manifest_files("all", [Apps], packaging())["webhooks/policies.yaml"]

    assert policy["metadata"]["name"] == "pod-rules.pods.core"
    assert policy["spec"]["validations"] == [
        {"expression": "has(object.metadata.labels.owner)", "message": "needs an owner"},
        {"expression": "true", "messageExpression": "'x'"},
    ]
    assert policy["spec"]["matchConstraints"]["resourceRules"][0]["resources"] == ["pods"]
    assert binding["spec"] == {
        "policyName": "pod-rules.pods.core",
        "validationActions": ["Deny"],
    }


@pytest.mark.parametrize("certificates", ["managed", "cert-manager"])
def test_the_chart_has_the_same_manifests(certificates: Any) -> None:
    """Also where the namespace is a part of a name."""
    chosen = packaging(webhook_certificates=certificates)

    assert installed([Apps], chosen, **AS_GENERATED) == generated([Apps], chosen)


def test_olm_makes_the_service_and_the_certificate() -> None:
    """The program reads the files that OLM mounts."""
    made = bundle([Apps], packaging(), "1.0.0")
    text = made["manifests/apps.clusterserviceversion.yaml"]

    assert "generateName: validate.apps.demo.example.com" in text
    assert "type: MutatingAdmissionWebhook" in text
    assert "--webhook-certs=/tmp/k8s-webhook-server/serving-certs" in text
    selected = packaging()
    assert "objectSelector" not in text
    assert selected.webhooks


def test_validators_that_only_python_runs_are_named() -> None:
    """Functions of fields and models, also inside other models; constraints are not."""

    def even(value: int) -> int:
        return value

    class Inner(Model):
        size: Annotated[int, AfterValidator(even)] = 2
        inner: "Inner | None" = None

    class Spec(Model):
        name: str = Field(default="a", min_length=1)
        parts: list[Inner] = Field(default_factory=list)
        by_name: dict[str, Inner] = Field(default_factory=dict)

        @field_validator("name")
        @classmethod
        def no_blanks(cls, value: str) -> str:
            return value

        @model_validator(mode="after")
        def in_order(self) -> "Spec":
            return self

    class Thing(Resource[Spec, Status], group="demo.example.com", version="v1"):
        """Without a webhook."""

    class Checked(Resource[Spec, Status], group="demo.example.com", version="v1"):
        """With a webhook, which runs the model."""

        @validates(on=("create", "update"))
        def check(self) -> None:
            """Accept it."""

    class Deleted(Resource[Spec, Status], group="demo.example.com", version="v1"):
        """With a webhook for deletes only."""

        @validates(on=("delete",))
        def check(self) -> None:
            """Accept it."""

    found = ["Spec.no_blanks", "Spec.in_order", "Inner.size"]
    assert python_only(Thing) == python_only(Deleted) == found
    assert python_only(Checked) == []
