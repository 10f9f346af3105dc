"""Which manifest is written to which file, and the settings of the pod."""

from typing import Any

import pytest
import yaml

from myrmidon import Kind, Manages, Model, Reads, Resource, Status
from myrmidon.errors import UsageError
from myrmidon.generate import Packaging, files, to_yaml
from myrmidon.generate.manifests.image import ImageSource
from myrmidon.generate.manifests.layout import defined_resources
from tests.generate.webapp import WebApp, WebApps

PACKAGING = Packaging(
    name="web-apps",
    namespace="web-apps-system",
    image="web-apps:1",
    target=("shop.controller",),
    image_source=ImageSource(),
)


def documents(path: str) -> list[Any]:
    """Return the manifests of one file."""
    return list(yaml.safe_load_all(files("all", [WebApps], PACKAGING)[path]))


def test_all_is_the_rest_and_a_kustomization() -> None:
    """Every file that a cluster needs is listed, except that of the Prometheus operator."""
    made = files("all", [WebApps], PACKAGING)
    parts = [files(what, [WebApps], PACKAGING) for what in ("crd", "rbac", "deploy")]

    assert {path: text for part in parts for path, text in part.items()} == {
        path: text for path, text in made.items() if path != "kustomization.yaml"
    }
    assert list(made) == [
        "crd/webapps.demo.myrmidon.dev.yaml",
        "rbac/service-account.yaml",
        "rbac/role.yaml",
        "rbac/role-binding.yaml",
        "rbac/leader-election.yaml",
        "deploy/namespace.yaml",
        "deploy/deployment.yaml",
        "deploy/metrics-service.yaml",
        "monitoring/service-monitor.yaml",
        "monitoring/prometheus-rule.yaml",
        "Dockerfile",
        "kustomization.yaml",
    ]
    (kustomization,) = documents("kustomization.yaml")
    assert kustomization["resources"] == list(made)[:8]


def test_the_pod_has_minimal_rights() -> None:
    """Not root, a read-only filesystem, no capabilities, limits, probes."""
    (deployment,) = documents("deploy/deployment.yaml")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["serviceAccountName"] == "web-apps"
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert container["args"][:3] == ["run", "shop.controller", "--leader-election"]
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "health"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "health"}
    assert container["resources"]["limits"] == {"memory": "512Mi"}
    assert (
        deployment["spec"]["selector"]["matchLabels"].items()
        <= deployment["spec"]["template"]["metadata"]["labels"].items()
    )


def test_the_lease_is_the_one_that_the_role_allows() -> None:
    """Otherwise the program would never lead."""
    (deployment,) = documents("deploy/deployment.yaml")
    role, _ = documents("rbac/leader-election.yaml")

    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    (lease,) = role["rules"][1]["resourceNames"]
    assert f"--leader-election-id={lease}" in container["args"]


def test_every_role_is_bound_to_the_account() -> None:
    """Names and namespaces agree across files."""
    (account,) = documents("rbac/service-account.yaml")
    roles = [*documents("rbac/role.yaml"), documents("rbac/leader-election.yaml")[0]]
    bindings = [*documents("rbac/role-binding.yaml"), documents("rbac/leader-election.yaml")[1]]

    for role, binding in zip(roles, bindings, strict=True):
        assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) == (
            role["kind"],
            role["metadata"]["name"],
        )
        assert binding["metadata"].get("namespace") == role["metadata"].get("namespace")
        (subject,) = binding["subjects"]
        assert (subject["name"], subject["namespace"]) == (
            account["metadata"]["name"],
            account["metadata"]["namespace"],
        )


def test_a_name_that_kubernetes_refuses_is_refused() -> None:
    """Before anything is written."""
    with pytest.raises(UsageError) as error:
        Packaging(name="Web_Apps", namespace="n", image="i", target=())
    assert str(error.value) == (
        "--name 'Web_Apps' is not a name that Kubernetes accepts.\n"
        "  fix: use lower case letters, digits and dashes, at most 63 of them"
    )


def test_yaml_is_stable_and_minimal() -> None:
    """The kind comes first; texts that look like another type are quoted."""
    manifest = {
        "spec": {"b": ["yes", 1, "1", None], "a": {}},
        "metadata": {"name": "x"},
        "kind": "K",
        "apiVersion": "v1",
    }
    text = to_yaml(manifest)

    assert text == (
        "apiVersion: v1\nkind: K\nmetadata:\n  name: x\nspec:\n  a: {}\n  b:\n  - 'yes'\n  - 1\n  - '1'\n  - null\n"
    )
    assert yaml.safe_load(text) == manifest
    shared = {"a": 1}
    assert "&" not in to_yaml({"x": shared, "y": shared})
    assert to_yaml({"description": "one\ntwo"}) == "description: |-\n  one\n  two\n"
    assert to_yaml([{"a": 1}, {"b": 2}]) == "a: 1\n---\nb: 2\n"


def test_printing_twice_prints_the_same() -> None:
    """Files change only if declarations do."""
    assert files("all", [WebApps], PACKAGING) == files("all", [WebApps], PACKAGING)


class Part(Resource[Model, Status], group="demo.myrmidon.dev", version="v1"):
    """A resource of the same group, which another controller makes."""


class Bill(Resource[Model, Status], group="billing.myrmidon.dev", version="v1"):
    """A resource of another group."""


class Issuer(Resource[Model, Status], of=Kind("cert.example.com", "v1", "Issuer", "issuers")):
    """A resource that another project defines."""


LISTED: list[dict[str, Any]] = [
    *({"manages": way} for way in (Part, (Part,), [Part], Manages(Part), (Manages(Part),))),
    *({"reads": way} for way in (Part, (Part,), [Part], Reads(Part), (Reads(Part),))),
]


@pytest.mark.parametrize("declared", LISTED)
def test_managed_resources_get_a_definition(declared: dict[str, Any]) -> None:
    """However they are listed: alone, in a tuple, or with limits on what is cached."""
    made = type("Apps", (WebApps,), declared)

    assert defined_resources([made]) == [WebApp, Part]


@pytest.mark.parametrize("auth", [False, True])
def test_prometheus_sends_its_token_if_metrics_need_one(auth: bool) -> None:
    """Without the token, each scrape of a program with --metrics-auth would get 401."""
    packaging = Packaging(name="web", namespace="web", image="w", target=(), metrics_auth=auth)
    made = files("all", [WebApps], packaging)

    (endpoint,) = yaml.safe_load(made["monitoring/service-monitor.yaml"])["spec"]["endpoints"]
    (container,) = yaml.safe_load(made["deploy/deployment.yaml"])["spec"]["template"]["spec"][
        "containers"
    ]
    sent = endpoint.get("bearerTokenFile")
    assert ("--metrics-auth" in container["args"]) == auth
    assert sent == ("/var/run/secrets/kubernetes.io/serviceaccount/token" if auth else None)


def test_a_program_may_have_several_groups() -> None:
    """A class with a group is defined here, whatever the group; one with ``of=`` is not."""
    made = type("Apps", (WebApps,), {"manages": (Bill, Issuer), "reads": (Part,)})

    assert defined_resources([made]) == [WebApp, Bill, Part]
