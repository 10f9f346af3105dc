"""The Helm chart is the manifests of `generate all`, with values to change."""

import string
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon import Controller
from myrmidon.generate import Packaging, chart, files
from myrmidon.generate.manifests.helm import _literal
from tests.generate.braces import BracesController
from tests.generate.helm_rendering import merged, rendered
from tests.generate.webapp import WebApps

NAMESPACE = "web-apps-system"
PACKAGING = Packaging(
    name="web-apps", namespace=NAMESPACE, image="reg.example.com:5000/web:1.10", target=("shop",)
)
AS_GENERATED = {
    "createNamespace": True,
    "keepCRDs": False,
    "serviceMonitor": {"enabled": True},
    "prometheusRule": {"enabled": True},
}
PROMETHEUS_RULE = "monitoring/prometheus-rule.yaml"
SERVICE_MONITOR = "monitoring/service-monitor.yaml"


def generated(
    controllers: list[type[Controller[Any]]], packaging: Packaging
) -> dict[str, list[Any]]:
    """Return the manifests of `generate all`, by path."""
    made = files("all", controllers, packaging)
    return {
        path: list(yaml.safe_load_all(text))
        for path, text in made.items()
        if "/" in path  # neither Dockerfile nor kustomization.yaml
    }


def installed(
    controllers: list[type[Controller[Any]]], packaging: Packaging, **changes: Any
) -> dict[str, list[Any]]:
    """Return the manifests of the chart with these values, by path; none for an empty template."""
    made = chart(controllers, packaging)
    values = merged(yaml.safe_load(made["values.yaml"]), changes)
    texts = {
        path.removeprefix("templates/"): rendered(text, values, packaging.namespace)
        for path, text in made.items()
        if path.startswith("templates/") and path.endswith(".yaml")
    }
    manifests = {path: list(yaml.safe_load_all(text)) for path, text in texts.items()}
    return {path: each for path, each in manifests.items() if each}


@pytest.mark.parametrize("controller", [WebApps, BracesController])
@pytest.mark.parametrize("auth", [False, True])
def test_the_chart_is_what_generate_all_writes(
    controller: type[Controller[Any]], auth: bool
) -> None:
    """With the Namespace and without the annotation that keeps definitions, they are equal."""
    packaging = Packaging(
        name="web", namespace="web-system", image="w", target=("{{ x }}",), metrics_auth=auth
    )
    assert installed([controller], packaging, **AS_GENERATED) == generated([controller], packaging)


def test_the_default_chart_differs_only_where_helm_needs_it() -> None:
    """It has no Namespace, nothing for the Prometheus operator, and its definitions stay."""
    expected = generated([WebApps], PACKAGING)
    for left_out in ("deploy/namespace.yaml", SERVICE_MONITOR, PROMETHEUS_RULE):
        del expected[left_out]
    for path, (made, *_) in expected.items():
        if path.startswith("crd/"):
            made["metadata"]["annotations"] = {"helm.sh/resource-policy": "keep"}

    assert installed([WebApps], PACKAGING) == expected


def test_values_reach_the_deployment() -> None:
    """Each value of the pod is in its place, and nothing else changes."""
    values = {
        "image": {"tag": "", "digest": "sha256:0", "pullPolicy": "Always"},
        "replicas": 3,
        "resources": {"limits": {"memory": "1Gi"}},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {"x": [{"y": 1}]}},
        "imagePullSecrets": [{"name": "pull"}],
        "env": [{"name": "A", "value": "1"}],
        "extraArgs": ["--log-level=debug"],
        "metrics": {"auth": True},
    }
    (expected,) = generated([WebApps], PACKAGING)["deploy/deployment.yaml"]
    pod = expected["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    expected["spec"]["replicas"] = 3
    for key in ("nodeSelector", "tolerations", "affinity", "imagePullSecrets"):
        pod[key] = values[key]
    container |= {
        "image": "reg.example.com:5000/web@sha256:0",
        "imagePullPolicy": "Always",
        "env": values["env"],
    }
    container["resources"]["limits"]["memory"] = "1Gi"
    at = container["args"].index("--metrics-addr=:8080") + 1
    container["args"][at:at] = ["--metrics-auth"]
    container["args"].append("--log-level=debug")

    (deployment,) = installed([WebApps], PACKAGING, **values)["deploy/deployment.yaml"]
    assert deployment == expected


def test_a_part_that_is_switched_off_is_not_installed() -> None:
    """Neither definitions nor anything about metrics."""
    made = installed(
        [WebApps],
        PACKAGING,
        installCRDs=False,
        metrics={"enabled": False},
        serviceMonitor={"enabled": True},
    )
    assert not any(path.startswith("crd/") for path in made)
    assert "deploy/metrics-service.yaml" not in made
    assert SERVICE_MONITOR not in made
    (deployment,) = made["deploy/deployment.yaml"]
    assert "--metrics-addr=" in deployment["spec"]["template"]["spec"]["containers"][0]["args"]


def test_the_monitor_takes_the_labels_by_which_it_is_selected() -> None:
    """The Prometheus operator selects ServiceMonitors by label."""
    changes = {"enabled": True, "interval": "5s", "labels": {"release": "prometheus"}}
    (made,) = installed([WebApps], PACKAGING, serviceMonitor=changes)[SERVICE_MONITOR]
    assert made["metadata"]["labels"] == {**PACKAGING.labels, "release": "prometheus"}
    assert made["spec"]["endpoints"][0]["interval"] == "5s"


TOKEN_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/token"
SECRET = {"name": "scraper", "key": "token"}


@pytest.mark.parametrize(
    ("auth", "secret", "sent"),
    [
        (False, {}, {}),
        (False, SECRET, {}),
        (True, {}, {"bearerTokenFile": TOKEN_FILE}),
        (True, SECRET, {"authorization": {"credentials": SECRET}}),
    ],
)
def test_the_monitor_authenticates_if_metrics_need_a_token(
    auth: bool, secret: dict[str, str], sent: dict[str, Any]
) -> None:
    """With the token of Prometheus itself, or with the one in the Secret that the values name."""
    monitor = {"enabled": True, "tokenSecret": secret}
    made = installed([WebApps], PACKAGING, metrics={"auth": auth}, serviceMonitor=monitor)

    (endpoint,) = made[SERVICE_MONITOR][0]["spec"]["endpoints"]
    assert endpoint == {"port": "metrics", "interval": "30s", **sent}
    assert ("rbac/metrics-auth.yaml" in made) == auth  # with the role that a scraper needs


@pytest.mark.parametrize(
    ("image", "repository", "tag", "digest"),
    [
        ("web", "web", "", ""),
        ("web:1", "web", "1", ""),
        ("reg.example.com:5000/web", "reg.example.com:5000/web", "", ""),
        ("reg.example.com:5000/a/web:v1", "reg.example.com:5000/a/web", "v1", ""),
        ("web@sha256:0", "web", "", "sha256:0"),
        ("reg:5000/web:1@sha256:0", "reg:5000/web", "1", "sha256:0"),
    ],
)
def test_an_image_is_split(image: str, repository: str, tag: str, digest: str) -> None:
    """The template joins the parts again."""
    packaging = Packaging(name="web", namespace="web", image=image, target=())
    made = chart([WebApps], packaging)
    values = yaml.safe_load(made["values.yaml"])["image"]
    assert (values["repository"], values["tag"], values["digest"]) == (repository, tag, digest)
    assert yaml.safe_load(made["Chart.yaml"])["appVersion"] == (tag or "0.1.0")
    (deployment,) = installed([WebApps], packaging)["deploy/deployment.yaml"]
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == image


@settings(max_examples=50)
@given(st.text(st.sampled_from(string.ascii_letters + '{}-" .\n\u2028\x85')))
def test_braces_of_the_user_are_printed_as_they_are(text: str) -> None:
    """Whatever a description contains, Helm does not evaluate it."""
    assert rendered(_literal(text), {}, "") == text
