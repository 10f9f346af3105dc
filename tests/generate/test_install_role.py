"""The role with which a program installs its own definitions."""

import yaml

from myrmidon.apiserver.auth.users import User
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.server import ApiServer
from myrmidon.generate import Packaging, files
from myrmidon.generate.manifests.layout import definitions_of
from myrmidon.io.client import Client
from myrmidon.io.timers.clock import LoopClock
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.startup.installation import Installation
from myrmidon.testing import run
from tests.runtime.things import Things

PACKAGING = Packaging(
    name="demo", namespace="demo-system", image="demo", target=(".",), install_crds=True
)


def test_the_role_to_install_definitions_suffices() -> None:
    """Once to create them, and once to change them."""
    texts = files("all", [Things], PACKAGING)
    server = ApiServer(rbac=True)
    for document in yaml.safe_load_all(texts["rbac/install-crds.yaml"]):
        assert not server.create(document)
    assert "--install-crds" in texts["deploy/deployment.yaml"]
    user = User("system:serviceaccount:demo-system:demo")
    clock = LoopClock()

    async def main() -> None:
        client = Client(LocalTransport(server, user=user), clock=clock)
        for _ in range(2):
            await Installation(client, definitions_of([Things]), clock, Logger("test")).complete()

    run(main())
    stored = server.store.scan("customresourcedefinitions.apiextensions.k8s.io")
    assert [one.value["metadata"]["name"] for one in stored] == ["things.test.myrmidon.dev"]


def test_without_the_flag_there_is_no_such_role() -> None:
    """Rights over definitions are wide; they are not granted by default."""
    packaging = Packaging(name="demo", namespace="demo-system", image="demo", target=(".",))
    assert "rbac/install-crds.yaml" not in files("all", [Things], packaging)
