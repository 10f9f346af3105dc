"""The OLM bundle: the layout that a catalog reads, and the rights that `generate rbac` grants."""

import argparse
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from myrmidon import Manages, kinds
from myrmidon.cli.commands import generate
from myrmidon.cli.main import main
from myrmidon.errors import UsageError
from myrmidon.generate import Packaging, files
from myrmidon.generate.manifests.olm import bundle
from tests.generate.webapp import WebApps

PACKAGING = Packaging(name="shop", namespace="shop-system", image="shop:1", target=("shop",))
VERSION = "manifests/shop.clusterserviceversion.yaml"


def loaded(made: dict[str, str], path: str) -> Any:
    """Return the first document of a file."""
    return next(iter(yaml.safe_load_all(made[path])))


def test_the_bundle_has_the_layout_that_a_catalog_reads() -> None:
    """The labels of the image and the annotations say the same, and name folders that exist."""
    made = bundle([WebApps], PACKAGING, "1.2.3")
    annotations = loaded(made, "metadata/annotations.yaml")["annotations"]

    assert list(made) == [
        VERSION,
        "manifests/webapps.demo.myrmidon.dev.yaml",
        "metadata/annotations.yaml",
        "bundle.Dockerfile",
    ]
    for key, value in annotations.items():
        assert f"LABEL {key}={value}\n" in made["bundle.Dockerfile"]
    assert annotations["operators.operatorframework.io.bundle.package.v1"] == "shop"


def test_the_version_installs_what_generate_all_writes() -> None:
    """The Deployment, the definitions and exactly the rights."""
    made, plain = bundle([WebApps], PACKAGING, "1.2.3"), files("all", [WebApps], PACKAGING)
    version = loaded(made, VERSION)
    install = version["spec"]["install"]["spec"]
    (deployment,) = install["deployments"]
    (cluster,) = install["clusterPermissions"]
    (own,) = install["permissions"]

    assert version["metadata"]["name"] == "shop.v1.2.3"
    assert deployment["spec"] == loaded(plain, "deploy/deployment.yaml")["spec"]
    assert cluster["rules"] == loaded(plain, "rbac/role.yaml")["rules"]
    assert own["rules"] == loaded(plain, "rbac/leader-election.yaml")["rules"]
    account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    assert cluster["serviceAccountName"] == own["serviceAccountName"] == account
    crd = loaded(made, "manifests/webapps.demo.myrmidon.dev.yaml")
    (owned,) = version["spec"]["customresourcedefinitions"]["owned"]
    assert owned["name"] == crd["metadata"]["name"]
    assert owned["kind"] == crd["spec"]["names"]["kind"]
    assert owned["version"] in [each["name"] for each in crd["spec"]["versions"]]


def test_protected_metrics_need_their_reviews() -> None:
    """The program asks the server who scrapes it."""
    packaging = Packaging(name="s", namespace="n", image="i", target=("s",), metrics_auth=True)
    version = loaded(
        bundle([WebApps], packaging, "1.0.0"), "manifests/s.clusterserviceversion.yaml"
    )
    (cluster,) = version["spec"]["install"]["spec"]["clusterPermissions"]

    assert "tokenreviews" in [each for rule in cluster["rules"] for each in rule["resources"]]


def test_rights_in_a_namespace_of_another_name_are_refused() -> None:
    """OLM has no place for them."""
    elsewhere = {"manages": (Manages(kinds.CONFIG_MAP, namespaces=("kube-public",)),)}
    made = type("Apps", (WebApps,), elsewhere)

    with pytest.raises(UsageError, match=r"need some in kube-public\.\n  fix: "):
        bundle([made], PACKAGING, "1.0.0")


def test_the_command_writes_and_compares_a_bundle(tmp_path: Path) -> None:
    """Into a folder, and only with a version that can be compared."""
    parser = argparse.ArgumentParser()
    generate.add_arguments(parser)
    common = ["bundle", "tests.generate.webapp:WebApps", "-o", str(tmp_path)]

    assert generate.run(parser.parse_args([*common, "--bundle-version", "2.0.0"])) == 0
    assert generate.run(parser.parse_args([*common, "--bundle-version", "2.0.0", "--check"])) == 0
    assert generate.run(parser.parse_args([*common, "--check"])) == 1
    with pytest.raises(UsageError, match="fix: write it as"):
        generate.run(parser.parse_args([*common, "--bundle-version", "two"]))
    with pytest.raises(UsageError, match="fix: name the folder"):
        generate.run(parser.parse_args(common[:2]))


def test_samples_of_the_kind_are_examples(tmp_path: Path) -> None:
    """The files beside the controller are read; `--check` compares them as well."""
    arguments = ["generate", "bundle", "examples/web_app", "-o", str(tmp_path)]
    assert main(arguments) == 0
    (path,) = (tmp_path / "manifests").glob("*.clusterserviceversion.yaml")
    version = yaml.safe_load(path.read_text())
    examples = json.loads(version["metadata"]["annotations"]["alm-examples"])

    assert {each["kind"] for each in examples} == {"WebApp"}
    assert main([*arguments, "--check"]) == 0


def test_samples_of_other_kinds_are_not_examples() -> None:
    """OLM refuses a version with an example of a kind that it does not own."""
    other = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
    made = bundle([WebApps], PACKAGING, "1.0.0", [other])
    assert "alm-examples" not in loaded(made, VERSION)["metadata"]["annotations"]


def test_without_samples_there_are_no_examples() -> None:
    """The annotation is left out, not empty."""
    annotations = loaded(bundle([WebApps], PACKAGING, "1.0.0"), VERSION)["metadata"]["annotations"]
    assert "alm-examples" not in annotations
