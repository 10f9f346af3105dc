"""The users of the soak: they create, edit, delete and spoil objects, without a proxy."""

import asyncio
import http.client
from collections import Counter
from collections.abc import Iterator
from typing import Any

from myrmidon.generate import crd
from tests.cluster.controlplane.client import Client, Response
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.controlplane.processes import wait_until
from tests.soak.chaos import GROUP, RESOURCES, VERSION
from tests.soak.oracle import TWINS
from tests.soak.pace import pause
from tests.soak.plan import Act

Json = dict[str, Any]
API = f"/apis/{GROUP}/{VERSION}"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PLURALS = {each.KIND.kind: each.KIND.plural for each in RESOURCES}
NAMESPACES = tuple(sorted({*TWINS, *TWINS.values()}))
MERGE_PATCH = "application/merge-patch+json"
_FAILURES = (OSError, http.client.HTTPException)


def install(plane: ControlPlane) -> None:
    """Create the kinds and the namespaces, and wait until the kinds are served."""
    client = plane.client()
    for each in RESOURCES:
        made = client.post(CRDS, crd(each))
        assert made.status == 201, made.body
    for name in NAMESPACES:
        made = client.post("/api/v1/namespaces", {"metadata": {"name": name}})
        assert made.status == 201, made.body
    paths = [f"{API}/{plural}" for plural in PLURALS.values()]
    wait_until(lambda: {client.status(path) for path in paths} == {200}, "kinds served", 60.0)


def parents(client: Client) -> list[Json]:
    """Return every parent."""
    return [obj for plural in PLURALS.values() for obj in items(client, f"{API}/{plural}")]


def children(client: Client) -> list[Json]:
    """Return every ConfigMap and Secret in the namespaces of the soak."""
    paths = [
        f"/api/v1/namespaces/{namespace}/{plural}"
        for namespace in NAMESPACES
        for plural in ("configmaps", "secrets")
    ]
    return [obj for path in paths for obj in items(client, path)]


def items(client: Client, path: str) -> list[Json]:
    """Return the objects of a list, each with its kind."""
    answer = client.get(path)
    if answer.status != 200:
        raise OSError(f"{path}: {answer.status}")
    kind = answer.body["kind"].removesuffix("List")
    return [{**obj, "kind": kind} for obj in answer.body["items"]]


class Users:
    """They act one after the other, at a fixed pace."""

    def __init__(self, plane: ControlPlane, acts: Iterator[Act], per_second: float) -> None:
        self._client = plane.client(timeout=5.0)
        self._acts, self._pause = acts, 1.0 / per_second
        self.counts: Counter[str] = Counter()

    async def run(self) -> None:
        """Act until cancelled; while the API server is down they skip their turn."""
        for act in self._acts:
            try:
                status = await asyncio.to_thread(self._do, act)
                self.counts[act.verb if status < 300 else f"refused ({status})"] += 1
            except _FAILURES:
                self.counts["unanswered"] += 1
                await pause(0.5)
            await pause(self._pause)

    def _do(self, act: Act) -> int:
        path = f"{API}/namespaces/{act.namespace}/{PLURALS[act.kind]}"
        spec = {"text": act.text, "parts": list(act.parts)}
        if act.verb in ("delete", "recreate"):
            status = self._client.delete(f"{path}/{act.name}").status
            if act.verb == "delete":
                return status
        if act.verb in ("create", "recreate"):
            return self._create(path, act, spec).status
        if act.verb == "edit":
            body = {"spec": spec}
            return self._client.request("PATCH", f"{path}/{act.name}", body, MERGE_PATCH).status
        return self._meddle(act)

    def _create(self, path: str, act: Act, spec: Json) -> Response:
        body = {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": act.kind,
            "metadata": {"name": act.name},
            "spec": spec,
        }
        return self._client.post(path, body)

    def _meddle(self, act: Act) -> int:
        """Delete a child, or write a wrong value into it."""
        name = f"{act.kind.lower()}-{act.name}-{act.parts[0] if act.parts else 'a'}"
        path = f"/api/v1/namespaces/{act.namespace}/configmaps/{name}"
        if act.verb == "remove":
            return self._client.delete(path).status
        body = {"data": {"text": "spoiled"}}
        return self._client.request("PATCH", path, body, MERGE_PATCH).status
