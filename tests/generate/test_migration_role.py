"""The role with which a program migrates stored objects, and the bundle of a kind with versions."""

from typing import Any

import pytest
import yaml

from myrmidon.apiserver.auth.users import User
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.cli.main import main
from myrmidon.generate import Packaging, chart, files
from myrmidon.generate.manifests.olm import bundle
from myrmidon.io.client import Client
from myrmidon.io.timers.clock import LoopClock
from myrmidon.runtime.startup.storage_migration import StorageMigrator
from myrmidon.testing import run
from tests.runtime.test_storage_migration import NAME, World
from tests.runtime.things import Things
from tests.testing.harness.test_versions import Apps

ROLE = "rbac/migrate-storage.yaml"


def packaging(**options: Any) -> Packaging:
    """Return the packaging of a program that converts."""
    made = {"name": "apps", "namespace": "apps-system", "image": "apps", "converts": True}
    return Packaging(**made, target=(".",), **options)  # type: ignore[arg-type]


def test_the_role_to_migrate_suffices() -> None:
    """From the first page to the status of the definition; the account has no other right."""
    texts = files("all", [Apps], packaging(migrate_storage=True))
    assert "--migrate-storage" in texts["deploy/deployment.yaml"]

    async def story() -> None:
        world = World(10, rbac=True)
        await world.begin()
        for document in yaml.safe_load_all(texts[ROLE]):
            assert world.server.create(document) == ""
        user = User("system:serviceaccount:apps-system:apps")
        client = Client(LocalTransport(world.server, user=user), clock=LoopClock())

        outcome = await StorageMigrator(client, LoopClock(), page_size=4).migrate(NAME)

        assert outcome.is_finished
        assert world.stored() == {"v1"}

    run(story())


def test_without_the_flag_there_is_no_such_role() -> None:
    """Rights over all objects of a kind are not granted by default."""
    assert ROLE not in files("all", [Apps], packaging())
    assert "--migrate-storage" not in files("all", [Apps], packaging())["deploy/deployment.yaml"]


def test_a_kind_with_one_version_needs_no_right() -> None:
    """The role names the definitions whose objects can be stored in an older version."""
    texts = files("all", [Apps, Things], packaging(migrate_storage=True))
    role, _ = yaml.safe_load_all(texts[ROLE])

    assert "things" not in str(role)
    assert {name for rule in role["rules"] for name in rule.get("resourceNames", ())} == {NAME}


def test_the_chart_has_the_role_as_well() -> None:
    """Whatever way a program is installed, it can migrate."""
    assert f"templates/{ROLE}" in chart([Apps], packaging(migrate_storage=True))


def test_a_program_without_versions_has_nothing_to_migrate(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The command says so, instead of writing an empty role."""
    assert main(["generate", "rbac", "examples/config_copy", "--migrate-storage"]) == 2
    told = capsys.readouterr().err
    assert "no kind of this program has several versions" in told
    assert "  fix: leave out --migrate-storage" in told


# -------------------------------------------------------------------------------- bundle


def version_of(**options: Any) -> dict[str, Any]:
    """Return the ClusterServiceVersion of a program that converts."""
    made = bundle([Apps], packaging(**options), "1.0.0")
    loaded: dict[str, Any] = yaml.safe_load(made["manifests/apps.clusterserviceversion.yaml"])
    return loaded


def test_the_bundle_has_a_conversion_webhook() -> None:
    """OLM makes the Service and the certificate, and puts them into the definitions that it names."""
    (webhook,) = version_of()["spec"]["webhookdefinitions"]

    assert webhook == {
        "type": "ConversionWebhook",
        "admissionReviewVersions": ["v1"],
        "containerPort": 443,
        "targetPort": 9443,
        "conversionCRDs": [NAME],
        "deploymentName": "apps",
        "generateName": "convert.apps",
        "sideEffects": "None",
        "webhookPath": "/convert",
    }


def test_the_program_of_a_bundle_knows_the_service_of_olm() -> None:
    """Its certificate is for that name, which is not the one of the other manifests."""
    (deployment,) = version_of()["spec"]["install"]["spec"]["deployments"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]

    assert "--webhook-service=apps-service" in container["args"]


@pytest.mark.parametrize(
    ("options", "verbs"),
    [
        pytest.param({}, {"get"}, id="to verify the certificate"),
        pytest.param({"install_crds": True}, {"create", "get", "patch"}, id="to install"),
        pytest.param({"migrate_storage": True}, {"get", "patch"}, id="to migrate"),
    ],
)
def test_the_bundle_grants_what_the_arguments_of_the_program_need(
    options: dict[str, bool], verbs: set[str]
) -> None:
    """On definitions; the roles are the same as those of `generate rbac`."""
    (cluster,) = version_of(**options)["spec"]["install"]["spec"]["clusterPermissions"]
    rules = [each for each in cluster["rules"] if "apiextensions.k8s.io" in each["apiGroups"]]

    assert {verb for rule in rules for verb in rule["verbs"]} == verbs
