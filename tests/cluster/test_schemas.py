"""The generated schemas and the models agree, as judged by the real server.

Every shape becomes a CustomResourceDefinition of its own; Hypothesis draws specs that are valid in
most places and invalid in some; the server validates them in a dry run.  If it answers 201 or 422
the model must agree, and the object that the server would store must be what the model reads.
"""

import http.client
import json
import ssl
import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from myrmidon.generate import Packaging, crd, files, schema_of_model
from tests.cluster.controlplane.controlplane import ADMIN_TOKEN, ControlPlane
from tests.generate.agreement import fits, paths, specs, stored
from tests.generate.shapes import RESOURCES, RULED
from tests.generate.test_definitions import Site
from tests.generate.webapp import WebApps

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SECONDS_TO_ESTABLISH_MAX = 60.0


class Server:
    """One connection that is kept open, because thousands of requests go through it."""

    def __init__(self, plane: ControlPlane) -> None:
        context = ssl.create_default_context(cafile=plane.ca)
        self._line = http.client.HTTPSConnection(
            "127.0.0.1", plane.port, context=context, timeout=30
        )

    def send(
        self, method: str, path: str, body: Any = None, media: str = "application/json"
    ) -> tuple[int, Any]:
        """Send and read the response."""
        headers = {"Authorization": f"Bearer {ADMIN_TOKEN}", "Content-Type": media}
        self._line.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self._line.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text.startswith(b"{") else {
            "message": text.decode()
        }

    def close(self) -> None:
        """Close the connection."""
        self._line.close()


@pytest.fixture(scope="module")
def server(controlplane: ControlPlane) -> Iterator[Server]:
    """Return a server that serves every shape."""
    line = Server(controlplane)
    try:
        yield from _serving(line)
    finally:
        line.close()


def _serving(line: Server) -> Iterator[Server]:
    for resource in RESOURCES.values():
        status, answer = line.send("POST", CRDS, crd(resource))
        assert status == 201, answer["message"]
    deadline = time.monotonic() + SECONDS_TO_ESTABLISH_MAX
    while not all(_established(item) for item in line.send("GET", CRDS)[1]["items"]):
        assert time.monotonic() < deadline, "definitions were not established in time"
        time.sleep(0.5)  # noqa: TID251 - the real server takes real time
    yield line
    for resource in RESOURCES.values():
        line.send("DELETE", f"{CRDS}/{resource.KIND.plural}.{resource.KIND.group}")


def _established(definition: dict[str, Any]) -> bool:
    conditions = definition.get("status", {}).get("conditions") or ()  # null at first
    found = {each["type"]: each["status"] for each in conditions}
    return found.get("Established") == "True"


def test_no_definition_is_non_structural(server: Server) -> None:
    """The server would serve it without pruning and defaulting."""
    _, answer = server.send("GET", CRDS)

    ours = [item for item in answer["items"] if item["spec"]["group"] == "shapes.myrmidon.dev"]
    assert len(ours) == len(RESOURCES) >= 40
    for item in ours:
        assert "NonStructuralSchema" not in {each["type"] for each in item["status"]["conditions"]}


@pytest.mark.parametrize("shape", RESOURCES)
@settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_model_and_server_agree(server: Server, shape: str, data: st.DataObject) -> None:
    """On valid or invalid, on defaults and on dropped fields."""
    resource = RESOURCES[shape]
    schema = schema_of_model(resource.SPEC)
    spec = data.draw(specs(resource.SPEC))
    manifest = {
        "apiVersion": resource.KIND.api_version,
        "kind": resource.KIND.kind,
        "metadata": {"name": "a"},
        "spec": spec,
    }
    collection = f"{resource.KIND.root}/namespaces/default/{resource.KIND.plural}"
    status, answer = server.send("POST", f"{collection}?dryRun=All", manifest)

    assert status in (201, 422), answer
    accepted = fits(resource, spec)
    if shape in RULED and accepted and status == 422:
        return  # a rule refused it, and only the server evaluates rules
    assert accepted == (status == 201), answer.get("message")
    if accepted:
        kept = answer.get("spec", {})
        expected = stored(resource.SPEC.from_wire(spec), schema)
        read = stored(resource.SPEC.from_wire(kept), schema)
        assert read == expected
        assert set(paths(kept)) == set(paths(read))


def test_definition_of_several_versions_is_accepted(server: Server) -> None:
    """One stored, one deprecated, one no longer served."""
    status, answer = server.send("POST", f"{CRDS}?dryRun=All&fieldValidation=Strict", crd(Site))

    assert status == 201, answer["message"]


def test_generated_manifests_pass_a_strict_dry_run(server: Server) -> None:
    """Every file except those for kinds that the server lacks."""
    packaging = Packaging(
        name="web-apps", namespace="default", image="web-apps:1", target=("shop",)
    )
    for path, text in files("all", [WebApps], packaging).items():
        if not path.startswith(("crd/", "rbac/", "deploy/")):
            continue
        for manifest in yaml.safe_load_all(text):
            query = "dryRun=All&fieldManager=test&fieldValidation=Strict"
            status, answer = server.send(
                "PATCH", f"{_path(manifest)}?{query}", manifest, "application/apply-patch+yaml"
            )
            assert status in (200, 201), (path, answer["message"])


def _path(manifest: dict[str, Any]) -> str:
    version, kind = manifest["apiVersion"], manifest["kind"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = manifest["metadata"].get("namespace")
    where = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{where}/{kind.lower()}s/{manifest['metadata']['name']}"
