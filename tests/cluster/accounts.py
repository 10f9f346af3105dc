"""Controllers that run on the real server as an account that has only the given roles."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import yaml

from myrmidon.api import HttpRequest, Resource
from myrmidon.api.requests.transport import Transport
from myrmidon.errors import UsageError
from myrmidon.fsm import Controller
from myrmidon.generate import crd
from myrmidon.generate.manifests.rbac import binding
from myrmidon.io.access.kubeconfig import load_endpoint
from myrmidon.io.http.transport import HttpTransport
from myrmidon.runtime import Manager, ManagerOptions, Terms
from myrmidon.testing.faults.transport import Faults, FaultyTransport
from myrmidon.testing.harness.recording import RecordingTransport
from tests.cluster.controlplane.client import Client
from tests.cluster.controlplane.controlplane import ControlPlane

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
NAME = "robot"
SECONDS_MAX = 30.0

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}

Json = dict[str, Any]


# ---------------------------------------------------------------------------- the rights


class Right(NamedTuple):
    """One verb on one resource, in the rules of a list of roles."""

    verb: str
    resource: str
    role: int
    rule: int

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}"


def rights_in(made: list[Json]) -> list[Right]:
    """Return every single right that the roles grant."""
    return [
        Right(verb, resource, at, number)
        for at, role in enumerate(made)
        for number, rule in enumerate(role["rules"])
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


def without(made: list[Json], right: Right) -> list[Json]:
    """Return the same roles without one right."""
    left = deepcopy(made)
    rules = left[right.role]["rules"]
    rule = rules.pop(right.rule)
    others = [each for each in rule["resources"] if each != right.resource]
    verbs = [each for each in rule["verbs"] if each != right.verb]
    if others:
        rules.insert(right.rule, {**rule, "resources": others})
    if verbs:
        rules.insert(right.rule, {**rule, "resources": [right.resource], "verbs": verbs})
    return left


# ----------------------------------------------------------------------------- the stage


class RefusedError(Exception):
    """The server answered with 403."""


class Stage:
    """A namespace with an account that has the given roles."""

    def __init__(
        self, plane: ControlPlane, folder: Path, resources: Iterable[type[Resource[Any, Any]]] = ()
    ) -> None:
        self._plane, self._folder, self._resources = plane, folder, tuple(resources)
        self.admin: Client = plane.client()
        self.namespace = f"roles-{uuid4().hex[:8]}"
        self._made: list[str] = []
        self._post("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        self._post(
            f"/api/v1/namespaces/{self.namespace}/serviceaccounts", {"metadata": {"name": NAME}}
        )

    def give(self, made: list[Json]) -> None:
        """Create roles and bindings, and wait until the server applies them."""
        for role in made:
            owned = deepcopy(role)
            if role["kind"] == "ClusterRole":
                owned["metadata"]["name"] = self.namespace  # only of this stage
            for manifest in (owned, binding(owned, NAME, self.namespace)):
                where = f"/namespaces/{self.namespace}" if "namespace" in owned["metadata"] else ""
                self._post(f"{RBAC}{where}/{manifest['kind'].lower()}s", manifest)
        rules = [rule for role in made for rule in role["rules"]]
        for _ in range(200):
            if self._may(rules[0]) and self._may(rules[-1]):
                return
            time.sleep(0.05)  # noqa: TID251 - the real server takes real time
        raise AssertionError("the server did not notice the roles")

    def token(self) -> str:
        """Return a token of the account."""
        path = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{NAME}/token"
        answer = self.admin.post(path, {"spec": {"expirationSeconds": 3600}})
        return str(answer.body["status"]["token"])

    def kubeconfig(self) -> Path:
        """The credentials of the account."""
        config = yaml.safe_load(self._plane.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": self.token()}
        file = self._folder / f"{self.namespace}.yaml"
        file.write_text(yaml.safe_dump(config))
        return file

    def close(self) -> None:
        """Delete the objects, whose next controller sees all namespaces, and all that is around them."""
        for resource in self._resources:
            path = f"{resource.KIND.root}/namespaces/{self.namespace}/{resource.KIND.plural}"
            for left in self.admin.get(path).body["items"]:
                at, freed = f"{path}/{left['metadata']['name']}", {"metadata": {"finalizers": None}}
                self.admin.delete(at)
                self.admin.request("PATCH", at, freed, "application/merge-patch+json")
        self.admin.delete(f"/api/v1/namespaces/{self.namespace}")
        for kind in ("clusterroles", "clusterrolebindings"):
            self.admin.delete(f"{RBAC}/{kind}/{self.namespace}")

    def _may(self, rule: Json) -> bool:
        resource, _, subresource = rule["resources"][0].partition("/")
        asked = {
            "namespace": self.namespace,
            "group": rule["apiGroups"][0],
            "resource": resource,
            "subresource": subresource,
            "verb": rule["verbs"][0],
            "name": (rule.get("resourceNames") or [""])[0],
        }
        user = f"system:serviceaccount:{self.namespace}:{NAME}"
        answer = self.admin.post(REVIEWS, {"spec": {"user": user, "resourceAttributes": asked}})
        return bool(answer.body["status"]["allowed"])

    def _post(self, path: str, body: Json) -> None:
        answer = self.admin.post(path, body)
        assert answer.status == 201, answer.body


# ------------------------------------------------------------------------------ the life

Life = Callable[[Stage, RecordingTransport], Awaitable[None]]


async def refused(stage: Stage, life: Life) -> set[str]:
    """Run the life; return what was refused, up to the first refusal."""
    transport = RecordingTransport(HttpTransport(await load_endpoint(stage.kubeconfig())))
    try:
        await life(stage, transport)
    except (UsageError, RefusedError):
        pass  # later requests would only fail for the same reason
    finally:
        await transport.close()
        # A TLS connection whose stream was cut off ends a moment after its session does.
        await asyncio.sleep(0.25)  # noqa: TID251 - real time
    return {_right_of(each.request) for each in transport.log if each.status == 403}


def _right_of(request: HttpRequest) -> str:
    """Return the right that a request needs, as tests write it: ``patch gadgets/status``."""
    steps = request.path.split("/")
    steps = steps[4:] if request.path.startswith("/apis/") else steps[3:]
    if steps[0] == "namespaces" and len(steps) > 2:
        steps = steps[2:]
    verb = _VERBS.get(request.method) or ("get" if len(steps) > 1 else "list")
    if ("watch", "true") in request.query or ("watch", "1") in request.query:
        verb = "watch"
    return f"{verb} {'/'.join([steps[0], *steps[2:]])}"


# A candidate waits for a Lease that was just created; the default of 15 s is not needed here.
TERMS = Terms(lease_seconds=4.0, renew_seconds=3.0, retry_seconds=0.5)


class running:  # noqa: N801 - used as a verb
    """Run a manager that leads, until the block is left."""

    def __init__(
        self,
        stage: Stage,
        controller: Controller[Any],
        transport: RecordingTransport,
        *,
        namespaces: tuple[str, ...] = (),
        faults: Faults = lambda _request: None,
    ) -> None:
        options = ManagerOptions(
            leader_election=True,
            leader_election_id=NAME,
            leader_election_namespace=stage.namespace,
            terms=TERMS,
            namespaces=namespaces,
        )
        self._manager = Manager(options, transport=_Kept(FaultyTransport(transport, faults)))
        self._manager.add(controller)

    async def __aenter__(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._manager.run())
        await asyncio.sleep(0)  # noqa: TID251 - real time

    async def __aexit__(self, *_: object) -> None:
        self._manager.stop()
        await self._task


class _Kept:
    """A transport that stays open when the manager closes it."""

    def __init__(self, inner: Transport) -> None:
        self.send, self.stream = inner.send, inner.stream

    async def close(self) -> None:
        """Do nothing."""


async def until(holds: Callable[[], bool], transport: RecordingTransport) -> None:
    """Wait until ``holds`` is true, or a request was refused."""
    for _ in range(int(SECONDS_MAX / 0.1)):
        if any(each.status == 403 for each in transport.log):
            raise RefusedError
        if await asyncio.to_thread(holds):
            return
        await asyncio.sleep(0.1)  # noqa: TID251 - real time
    raise AssertionError("it did not come to pass")


def is_ready(obj: Json) -> bool:
    """Whether an object is Ready."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def is_event_read(request: HttpRequest) -> bool:
    """Whether a request looks up the event of an earlier process."""
    return request.method == "GET" and "/events/" in request.path


# ------------------------------------------------------------------------- the definition


def define(plane: ControlPlane, resource: type[Resource[Any, Any]]) -> None:
    """Install the definition of a resource, and wait until the whole server knows it.

    The admission of owner references has its own list of kinds, which is up to half a minute old;
    until it is updated, it forbids what the roles allow.
    """
    client, kind = plane.client(), resource.KIND
    assert client.post(CRDS, crd(resource)).status == 201
    wait_for(lambda: client.get(f"{kind.root}/{kind.plural}").status == 200)
    stage = Stage(plane, Path())
    rules = [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]},
        {
            "apiGroups": [kind.group],
            "resources": [f"{kind.plural}/finalizers"],
            "verbs": ["update"],
        },
    ]
    named = {"name": NAME, "namespace": stage.namespace}
    stage.give([{"kind": "Role", "metadata": named, "rules": rules}])
    account = replace(client, token=stage.token())
    owner = {"apiVersion": kind.api_version, "kind": kind.kind, "name": "a", "uid": "a"}
    owned = {"name": "a", "ownerReferences": [owner | {"blockOwnerDeletion": True}]}
    path = f"/api/v1/namespaces/{stage.namespace}/configmaps?dryRun=All"
    wait_for(lambda: account.post(path, {"metadata": owned}).status == 201)
    stage.close()


def undefine(client: Client, resource: type[Resource[Any, Any]]) -> None:
    """Remove the definition, and wait until it is gone."""
    path = f"{CRDS}/{crd(resource)['metadata']['name']}"
    client.delete(path)
    wait_for(lambda: client.get(path).status == 404)


def wait_for(holds: Callable[[], bool]) -> None:
    """Wait until ``holds`` is true."""
    for _ in range(int(2 * SECONDS_MAX / 0.05)):
        if holds():
            return
        time.sleep(0.05)  # noqa: TID251 - the real server takes real time
    raise AssertionError("it did not come to pass")
