"""One web application on a real server: its life, its objects, and the writes in the audit log."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import yaml

from myrmidon.generate import crd
from tests.cluster.controlplane.controlplane import ADMIN_TOKEN, ControlPlane
from tests.cluster.controlplane.processes import wait_until
from tests.cluster.web_apps import WebApp

Json = dict[str, Any]

APPS = f"/apis/{WebApp.KIND.api_version}"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITION = f"{CRDS}/webapps.{WebApp.KIND.group}"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
MERGE_PATCH = "application/merge-patch+json"
NAME = "shop"
SECONDS_MAX = 45.0  # for convergence; a machine with other load is slow

_VERBS = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_VOLATILE = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")


@dataclass(frozen=True)
class Request:
    """One write of the audit log."""

    user: str
    agent: str
    verb: str
    resource: str
    name: str
    code: int
    received_at: datetime
    answered_at: datetime

    @property
    def succeeded(self) -> bool:
        """Whether the server executed it."""
        return self.code < 300


class Life:
    """A web application in a namespace of its own."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane, self.namespace = plane, namespace
        self.client = plane.client()
        self._apps = f"{APPS}/namespaces/{namespace}/webapps"
        self._paths = (
            f"/api/v1/namespaces/{namespace}/configmaps",
            f"/api/v1/namespaces/{namespace}/services",
            f"/apis/apps/v1/namespaces/{namespace}/deployments",
            f"/apis/networking.k8s.io/v1/namespaces/{namespace}/ingresses",
        )

    # ------------------------------------------------------------------------- a user's acts

    def create(self, **spec: Any) -> None:
        """Create an application."""
        body = {
            "apiVersion": WebApp.KIND.api_version,
            "kind": "WebApp",
            "metadata": {"name": NAME},
            "spec": {"image": "shop:1", **spec},
        }
        self._done(self.client.post(self._apps, body))

    def change(self, **spec: Any) -> None:
        """Change the application."""
        path = f"{self._apps}/{NAME}"
        self._done(self.client.request("PATCH", path, {"spec": spec}, MERGE_PATCH))

    def delete(self) -> None:
        """Delete the application."""
        self._done(self.client.delete(f"{self._apps}/{NAME}"))

    def delete_child(self, part: str) -> None:
        """Delete one of its children, as another client would."""
        path = next(path for path in self._paths if path.endswith(part))
        self._done(self.client.delete(f"{path}/{NAME}"))

    def put_foreign(self) -> Json:
        """Create an object of another party beside it; return it as the server has it."""
        meta = {"name": "foreign", "labels": {"app": NAME}}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "b"}}
        return self._done(self.client.post(self._paths[0], body))

    def foreign(self) -> Json | None:
        """Return the object of the other party; None if it is gone with its namespace."""
        answer = self.client.get(f"{self._paths[0]}/foreign")
        return answer.body if answer.status == 200 else None

    def close(self) -> None:
        """Remove everything by force, because no controller is left to finalize it."""
        self.client.delete(f"{self._apps}/{NAME}")
        body = {"metadata": {"finalizers": None}}
        self.client.request("PATCH", f"{self._apps}/{NAME}", body, MERGE_PATCH)
        self.client.delete(f"{ROLES}/{self.namespace}-{NAME}")
        self.client.delete(f"/api/v1/namespaces/{self.namespace}")

    # --------------------------------------------------------------------------- what is there

    def app(self) -> Json | None:
        """Return the application, None if there is none."""
        answer = self.client.get(f"{self._apps}/{NAME}")
        return answer.body if answer.status == 200 else None

    def is_converged(self) -> bool:
        """Whether the application is Ready in its current generation."""
        app = self.app()
        if app is None:
            return False
        ready = condition(app, "Ready")
        current = ready.get("observedGeneration") == app["metadata"]["generation"]
        return current and ready.get("status") == "True"

    def wait_converged(self) -> None:
        """Wait until the application is Ready."""
        try:
            wait_until(self.is_converged, "converged", SECONDS_MAX)
        except TimeoutError as error:
            raise TimeoutError(f"{error}: {self.app()}") from None

    def wait_gone(self) -> None:
        """Wait until nothing of it is left, including the work of the garbage collector."""
        try:
            wait_until(lambda: not self.world(), "gone", SECONDS_MAX)
        except TimeoutError as error:
            raise TimeoutError(f"{error}: {self.world()}") from None

    def world(self) -> dict[str, Json]:
        """Return the application and its children, without what differs from run to run."""
        found: dict[str, Json] = {}
        for path in (self._apps, *self._paths, ROLES):
            body = self._done(self.client.get(path))
            for obj in body["items"]:
                kind, name = body["kind"].removesuffix("List"), obj["metadata"]["name"]
                if path == ROLES and not name.startswith(self.namespace):
                    continue
                if name != "foreign":
                    text = json.dumps(normalised(kind, obj)).replace(self.namespace, "*")
                    found[f"{kind} {name.replace(self.namespace, '*')}"] = json.loads(text)
        return found

    # ------------------------------------------------------------------------------- audit log

    def requests(self) -> list[Request]:
        """Return every write that names the namespace, in the order of arrival, without Events."""
        text = (self.plane.folder / "audit.log").read_text()
        lines = [line for line in text.splitlines()[:-1] if self.namespace in line]
        if text.endswith("\n") and self.namespace in text.splitlines()[-1]:
            lines.append(text.splitlines()[-1])
        found = [request for line in lines if (request := _request(json.loads(line)))]
        return sorted(found, key=lambda request: request.received_at)

    def own_writes(self) -> list[Request]:
        """Return the writes of the controller."""
        return [request for request in self.requests() if request.agent.startswith("myrmidon")]

    def made(self) -> Counter[str]:
        """Return how often the controller created each object."""
        return Counter(
            f"{one.resource} {one.name.replace(self.namespace, '*')}"
            for one in self.own_writes()
            if one.verb == "create" and one.code == 201
        )

    @staticmethod
    def _done(answer: Any) -> Json:
        assert answer.status < 300, answer.body
        body: Json = answer.body
        return body


def condition(obj: Json, kind: str) -> Json:
    """Return one condition of an object, empty if it has none."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] == kind), {})


def normalised(kind: str, obj: Json) -> Json:
    """Return an object without uids, versions, times and addresses."""
    meta = {key: value for key, value in obj["metadata"].items() if key not in _VOLATILE}
    labels = {key: value for key, value in meta.get("labels", {}).items() if "uid" not in key}
    owners = [{**owner, "uid": "*"} for owner in meta.get("ownerReferences") or ()]
    # The fingerprints cover the owner's uid.
    notes = {
        key: "*" if key.startswith("applied.myrmidon.dev/") else value
        for key, value in meta.get("annotations", {}).items()
    }
    rest = {key: value for key, value in obj.items() if key not in ("metadata", "status")}
    spec = {key: value for key, value in (rest.get("spec") or {}).items() if "clusterIP" not in key}
    status: Json = {}
    if kind == "WebApp":
        status = {**(obj.get("status") or {})}
        generation = obj["metadata"]["generation"]
        said = [_timeless(one, generation) for one in status.get("conditions") or ()]
        status["conditions"] = sorted(said)
        status["resourceRefs"] = sorted(map(str, status.get("resourceRefs") or ()))
    meta = {**meta, "labels": labels, "annotations": notes, "ownerReferences": owners}
    return {**rest, "spec": spec, "metadata": meta, "status": status}


def _timeless(said: Json, generation: int) -> str:
    stays = {key: value for key, value in said.items() if key != "lastTransitionTime"}
    stays["observedGeneration"] = stays.get("observedGeneration") == generation
    return str(sorted(stays.items()))


def _request(event: Json) -> Request | None:
    target = event.get("objectRef") or {}
    if event["verb"] not in _VERBS or target.get("resource") == "events":
        return None
    user = event.get("impersonatedUser") or event["user"]
    parts = [target.get("resource", ""), target.get("subresource", "")]
    return Request(
        user=user.get("username", ""),  # empty if it was answered with 401
        agent=event.get("userAgent", ""),
        verb=event["verb"],
        resource="/".join(filter(None, parts)),
        name=target.get("name", ""),
        code=(event.get("responseStatus") or {}).get("code", 0),
        received_at=datetime.fromisoformat(event["requestReceivedTimestamp"]),
        answered_at=datetime.fromisoformat(event["stageTimestamp"]),
    )


# ------------------------------------------------------------------------------------- stages


@contextmanager
def definition(plane: ControlPlane) -> Iterator[None]:
    """Install the definition of web applications for a while."""
    install(plane)
    yield
    plane.client().delete(DEFINITION)
    wait_until(lambda: plane.client().status(DEFINITION) == 404, "kind removed", SECONDS_MAX)


def install(plane: ControlPlane) -> None:
    """Install the definition and wait until it is served."""
    client = plane.client()
    made = client.post(CRDS, crd(WebApp))
    assert made.status == 201, made.body
    wait_until(lambda: client.status(f"{APPS}/webapps") == 200, "kind served", SECONDS_MAX)


def new_namespace(plane: ControlPlane) -> str:
    """Create a namespace with a unique name."""
    name = f"life-{uuid4().hex[:8]}"
    made = plane.client().post("/api/v1/namespaces", {"metadata": {"name": name}})
    assert made.status == 201, made.body
    return name


def write_kubeconfig(
    path: Path, plane: ControlPlane, user: Mapping[str, Any] | None = None, *, port: int = 0
) -> Path:
    """Write a kubeconfig for another user (``as``, ``tokenFile``), or for another port."""
    server = f"https://127.0.0.1:{port or plane.port}"
    cluster = {"server": server, "certificate-authority": str(plane.ca)}
    login = {**(user or {})}
    if "tokenFile" not in login:
        login["token"] = ADMIN_TOKEN
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": login}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    return path
