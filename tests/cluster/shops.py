"""A web application on a real API server: its user, its traces, its end."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from myrmidon.api import kinds
from myrmidon.api.objects import Json
from myrmidon.api.refs import Kind, ObjectRef
from myrmidon.api.requests import Request, Verb
from myrmidon.generate import crd
from tests.cluster.controlplane.client import Client
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.controlplane.processes import wait_until
from tests.runtime.webapps import KINDS, WebApp, WebAppSpec, normalised

MERGE = "application/merge-patch+json"
WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
PATIENCE = 60.0


def install(client: Client) -> None:
    """Make the kind known to the server."""
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    made = client.post(definitions, crd(WebApp))
    assert made.status in (201, 409), made.body
    wait_until(lambda: client.status("/apis/test.myrmidon.dev/v1/webapps") == 200, "kind served")


@dataclass
class Shop:
    """One application in a namespace of its own."""

    plane: ControlPlane
    namespace: str
    name: str = "shop"

    def __post_init__(self) -> None:
        self.client = self.plane.client()
        install(self.client)

    def path(self, kind: Kind, name: str = "") -> str:
        """Where an object or, without a name, all of a kind are."""
        namespace = self.namespace if kind.namespaced else ""
        if name:
            return Request(Verb.GET, ObjectRef(kind, name, namespace)).to_http().path
        return self.path(kind, "x").removesuffix("/x")

    # ------------------------------------------------------------------------ the user

    def create(self, **spec: Any) -> None:
        """Ask for the application."""
        wanted = WebAppSpec(**{"image": "shop:1", **spec})
        app = WebApp(name=self.name, namespace=self.namespace, spec=wanted)
        made = self.client.post(self.path(WebApp.KIND), app.to_json())
        assert made.status == 201, made.body

    def change(self, **spec: Any) -> None:
        """Ask for something else."""
        path = self.path(WebApp.KIND, self.name)
        changed = self.client.request("PATCH", path, {"spec": spec}, MERGE)
        assert changed.status == 200, changed.body

    def delete(self) -> None:
        """Ask for nothing any more."""
        self.client.delete(self.path(WebApp.KIND, self.name))

    # -------------------------------------------------------------------------- traces

    def get(self, kind: Kind, name: str) -> Json | None:
        """An object, if it is there."""
        answer = self.client.get(self.path(kind, name))
        return answer.body if answer.status == 200 else None

    def is_ready(self) -> bool:
        """Whether the application is ready for what its user asked last."""
        app = self.get(WebApp.KIND, self.name)
        if app is None:
            return False
        return any(
            one["type"] == "Ready"
            and one["status"] == "True"
            and one["observedGeneration"] == app["metadata"]["generation"]
            for one in (app.get("status") or {}).get("conditions") or ()
        )

    def wait_ready(self, seconds: float = PATIENCE) -> None:
        """Wait until it is."""
        wait_until(self.is_ready, f"{self.namespace}/{self.name} ready", seconds)

    def wait_gone(self, seconds: float = PATIENCE) -> None:
        """Wait until nothing of it is left, what the garbage collector deletes included."""
        wait_until(self.is_gone, f"{self.namespace}/{self.name} gone", seconds)

    def is_gone(self) -> bool:
        """Whether nothing of it is left."""
        return self.get(WebApp.KIND, self.name) is None and not self.world()

    def world(self) -> dict[str, Json]:
        """Everything that it consists of, without what differs from run to run."""
        found: dict[str, Json] = {}
        for kind in (WebApp.KIND, *KINDS):
            for obj in self.client.get(self.path(kind)).body["items"]:
                obj.update(apiVersion=kind.api_version, kind=kind.kind)
                if kind.namespaced or obj["metadata"]["name"].startswith(self.namespace):
                    name = obj["metadata"]["name"].replace(self.namespace, "NS")
                    found[f"{kind.kind} {name}"] = self._plain(obj)
        return found

    def _plain(self, obj: Json) -> Json:
        text = yaml.safe_dump(normalised(obj)).replace(self.namespace, "NS")
        plain: Json = yaml.safe_load(text)
        return plain

    def writes(self, *agents: str) -> list[Json]:
        """What these programs wrote into this namespace or nowhere, oldest first; without Events."""
        return [
            event
            for event in self.plane.audit_events()
            if event.get("userAgent") in agents
            and event["verb"] in WRITES
            and (event.get("objectRef") or {}).get("resource") not in ("events", "leases")
        ]

    def made(self, *agents: str) -> list[str]:
        """The objects that these programs have created, each as often as it was."""
        return [
            f"{event['objectRef']['resource']} {event['objectRef'].get('name', '?')}"
            for event in self.writes(*agents)
            if event["verb"] == "create" and event["responseStatus"]["code"] == 201
        ]


def start(kubeconfig: Path, namespace: str, name: str, *more: str) -> "subprocess.Popen[bytes]":
    """Start the controller as a process."""
    command = [sys.executable, "-m", "tests.cluster.program", "--kubeconfig", str(kubeconfig)]
    command += ["--namespace", namespace, "--name", name, *more]
    log = Path(kubeconfig).parent / f"{name}.log"
    with log.open("ab") as out:
        return subprocess.Popen(command, stdout=out, stderr=out)


def stop(process: "subprocess.Popen[bytes]") -> int:
    """End a process of ours, whatever state it is in."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()


CHILDREN = (kinds.DEPLOYMENT, kinds.SERVICE, kinds.CONFIG_MAP)
