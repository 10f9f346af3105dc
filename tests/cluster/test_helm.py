"""The generated chart, as the real helm reads it and as a real API server accepts it."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from myrmidon.cli.main import main
from tests.apiserver.clients.commands import server
from tests.cluster.controlplane.binaries import UnavailableError
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.helm import find

BRACES = "tests.generate.braces:BracesController"
TARGETS = [BRACES, *(str(each.parent) for each in sorted(Path("examples").glob("*/controller.py")))]
AS_GENERATED = (
    "createNamespace=true,keepCRDs=false,serviceMonitor.enabled=true,prometheusRule.enabled=true"
)


@pytest.fixture(scope="module")
def helm() -> Path:
    """Return the program helm; without it these tests are skipped."""
    try:
        return find()
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("target", TARGETS)
def test_helm_renders_what_generate_all_writes(helm: Path, tmp_path: Path, target: str) -> None:
    """Every manifest, in any order; `helm lint` finds no problem."""
    names = ["--name", "web", "--namespace", "web-system"]
    assert main(["generate", "helm", target, "-o", str(tmp_path / "web"), *names]) == 0
    assert main(["generate", "all", target, "-o", str(tmp_path / "all.yaml"), *names]) == 0

    run(helm, "lint", "--strict", str(tmp_path / "web"))
    values = ["--namespace", "web-system", "--set", AS_GENERATED]
    text = run(helm, "template", "any-release", str(tmp_path / "web"), *values)

    assert by_name(text) == {
        key: each
        for key, each in by_name((tmp_path / "all.yaml").read_text()).items()
        if key[0] != "Kustomization"
    }


def test_a_release_is_installed_upgraded_and_uninstalled(
    helm: Path, controlplane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """The server accepts all of it, and the definition outlives the release."""
    chart = str(tmp_path / "web")
    assert main(["generate", "helm", BRACES, "-o", chart, "--name", f"h-{namespace}"]) == 0
    cluster = ["--namespace", namespace, "--kubeconfig", str(controlplane.kubeconfig)]

    run(helm, "install", "braces", chart, *cluster)
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/h-{namespace}"
    assert controlplane.client().get(path).status == 200
    run(helm, "upgrade", "braces", chart, *cluster, "--set", "replicas=2,metrics.auth=true")
    assert controlplane.client().get(path).body["spec"]["replicas"] == 2
    run(helm, "uninstall", "braces", *cluster)

    assert controlplane.client().get(path).status == 404
    definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/braces.demo.myrmidon.dev"
    assert controlplane.client().get(definition).status == 200
    controlplane.client().delete(definition)


def test_a_kind_without_a_definition_is_named(
    helm: Path, controlplane: ControlPlane, tmp_path: Path
) -> None:
    """With the same words at the real server and at the embedded one."""
    chart = tmp_path / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: unknown\nversion: 0.1.0\n")
    (chart / "templates/a.yaml").write_text(
        "apiVersion: unknown.example/v1\nkind: Widget\nmetadata: {name: a}\n"
    )
    with server(tmp_path, "--token", "admin-token") as served:
        said = [
            subprocess.run(
                [helm, "install", "unknown", str(chart), *how, "--kubeconfig", str(kubeconfig)],
                capture_output=True,
                text=True,
                check=False,
            ).stderr
            for kubeconfig in (controlplane.kubeconfig, served.kubeconfig)
            for how in ([], ["--dry-run=server"])
        ]

    assert 'no matches for kind "Widget" in version "unknown.example/v1"' in said[0]
    assert "ensure CRDs are installed first" in said[0]
    assert said[2:] == said[:2]


def run(helm: Path, *arguments: str) -> str:
    """Run helm; return its output."""
    done = subprocess.run([helm, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def by_name(text: str) -> dict[tuple[str, str, str], Any]:
    """Return the manifests of a text by kind, namespace and name."""
    found: dict[tuple[str, str, str], Any] = {}
    for each in yaml.safe_load_all(text):
        if each is None:
            continue
        metadata = each.get("metadata") or {}
        key = (each["kind"], metadata.get("namespace", ""), metadata.get("name", ""))
        assert key not in found, key
        found[key] = each
    return found
