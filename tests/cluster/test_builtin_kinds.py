"""A controller of a built-in kind on the real server, under its generated role."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import orjson
import pytest
from kubernetes_asyncio.client import Configuration, CoreV1Api
from kubernetes_asyncio.config import load_kube_config

from examples.tenants.controller import SIZE, TEAM, Tenants
from myrmidon.generate import lease_role, roles
from myrmidon.io.access.configuration import endpoint_of
from myrmidon.io.client import Client
from myrmidon.io.http.transport import HttpTransport
from myrmidon.io.kubernetes_asyncio import api_client
from myrmidon.testing.harness.recording import RecordingTransport
from tests.cluster.accounts import NAME, Stage, refused, running, until
from tests.cluster.controlplane.controlplane import ControlPlane

MERGE = "application/merge-patch+json"


@pytest.fixture
def stage(controlplane: ControlPlane, tmp_path: Path) -> Iterator[Stage]:
    """A stage of the test's own."""
    made = Stage(controlplane, tmp_path, [])
    yield made
    made.close()


def test_the_tenants_example_lives_under_its_generated_role(stage: Stage) -> None:
    """Create, change, prune; every request is allowed, those of ctx.api and the binding included."""
    space = f"tenant-{uuid4().hex[:8]}"
    path = f"/api/v1/namespaces/{space}"
    quota = f"{path}/resourcequotas/tenant"
    binding = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{space}/rolebindings/tenant"
    policy = f"/apis/networking.k8s.io/v1/namespaces/{space}/networkpolicies/tenant"

    def label(team: str | None, size: str | None = None) -> None:
        change = {"metadata": {"labels": {TEAM: team, SIZE: size}}}
        assert stage.admin.request("PATCH", path, change, MERGE).status == 200

    def pods() -> str:
        found = stage.admin.get(quota).body
        return str(((found.get("spec") or {}).get("hard") or {}).get("pods"))

    def is_ready() -> bool:
        annotations = stage.admin.get(path).body["metadata"].get("annotations") or {}
        kept = orjson.loads(annotations.get("status.myrmidon.dev/tenants", "{}"))
        ready = [one for one in kept.get("conditions") or () if one["type"] == "Ready"]
        return bool(ready) and ready[0]["status"] == "True"

    async def life(stage: Stage, transport: RecordingTransport) -> None:
        stage.admin.post("/api/v1/namespaces", {"metadata": {"name": space}})
        label("shop-team")
        async with running(stage, Tenants(), transport):
            await until(lambda: pods() == "10" and is_ready(), transport)
            assert stage.admin.get(binding).body["subjects"][0]["name"] == "shop-team"
            assert stage.admin.get(policy).status == 200
            label("other-team", "large")
            await until(lambda: pods() == "100", transport)
            await until(
                lambda: stage.admin.get(binding).body["subjects"][0]["name"] == "other-team",
                transport,
            )
            label(None)
            await until(lambda: stage.admin.get(quota).status == 404 and is_ready(), transport)
            assert "conditions" not in stage.admin.get(path).body["status"]
        stage.admin.delete(path)

    stage.give([*roles([Tenants], NAME), lease_role(NAME, stage.namespace, NAME)])
    assert asyncio.run(refused(stage, life)) == set()


def test_a_configuration_of_kubernetes_asyncio_connects(controlplane: ControlPlane) -> None:
    """With the client certificate and the CA that its own loader found in the kubeconfig."""

    async def act() -> list[str]:
        configuration = Configuration()
        await load_kube_config(str(controlplane.kubeconfig), client_configuration=configuration)
        transport = HttpTransport(endpoint_of(configuration))
        try:
            found = await CoreV1Api(api_client(Client(transport))).list_namespace()
        finally:
            await transport.close()
            await asyncio.sleep(0.25)  # noqa: TID251 - the TLS session ends in real time
        return [one.metadata.name for one in found.items]

    assert "default" in asyncio.run(act())
