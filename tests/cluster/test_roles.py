"""A controller under its generated role: it suffices, and nothing in it is superfluous.

A controller that does everything a controller can do runs on the real server as a ServiceAccount
that holds the generated roles and nothing else.  No request may be refused.  Then the same again,
once for every single verb of every rule, without that verb: each time something must be refused.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml

from myrmidon.api import HttpRequest, Model, Resource, Status, kinds
from myrmidon.errors import UsageError
from myrmidon.fsm import Context, Controller, Done, Result, state
from myrmidon.generate import crd, lease_role, roles
from myrmidon.generate.rbac import binding
from myrmidon.io.config import load_endpoint
from myrmidon.io.http import HttpTransport
from myrmidon.runtime import Manager, ManagerOptions
from myrmidon.sets import OutputSet
from myrmidon.testing.recording import RecordingTransport
from tests.cluster.controlplane.client import Client
from tests.cluster.controlplane.controlplane import ControlPlane

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
NAME = "gadgets"
SECONDS_MAX = 30.0

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}

Json = dict[str, Any]


class GadgetSpec(Model):
    """What goes into the maps."""

    text: str = ""


class Gadget(Resource[GadgetSpec, Status], group="roles.myrmidon.dev", version="v1"):
    """An object whose controller does everything that a controller can do."""


def config_map(gadget: Gadget, name: str) -> Json:
    """A child."""
    metadata = {"name": f"{gadget.name}-{name}", "namespace": gadget.namespace}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"text": gadget.spec.text},
    }


class Gadgets(Controller[Gadget]):
    """Writes in every way, reads in every way, and says so."""

    manages = (kinds.CONFIG_MAP,)
    reads = (kinds.SECRET,)

    @state(initial=True, condition="Made")
    async def made(self, gadget: Gadget, out: OutputSet, ctx: Context) -> Result:
        """The maps are there."""
        await ctx.live.get(kinds.CONFIG_MAP, gadget.name)
        await ctx.live.get(kinds.SECRET, gadget.name)
        await ctx.live.get(Gadget, gadget.name)
        out.apply(config_map(gadget, "patched"))
        out.apply(config_map(gadget, "replaced"), as_update=True)
        ctx.event("Normal", "Made", "the maps are there")
        return Done()

    @state(finalizer=True, condition="Gone")
    def gone(self, gadget: Gadget, out: OutputSet) -> Result:
        """The maps are gone."""
        out.delete(kinds.CONFIG_MAP, f"{gadget.name}-patched")
        return Done()


class _RefusedError(Exception):
    """The server said 403."""


class Stage:
    """A namespace with an account in it that holds the given roles."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self._plane, self._folder = plane, folder
        self.admin: Client = plane.client()
        self.namespace = f"roles-{uuid4().hex[:8]}"
        self._made: list[str] = []
        self._post("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        self._post(
            f"/api/v1/namespaces/{self.namespace}/serviceaccounts", {"metadata": {"name": NAME}}
        )

    def give(self, made: list[Json]) -> None:
        """Create roles and bindings, and wait until the server goes by them."""
        for role in made:
            owned = deepcopy(role)
            if role["kind"] == "ClusterRole":
                owned["metadata"]["name"] = self.namespace  # of this stage alone
            for manifest in (owned, binding(owned, NAME, self.namespace)):
                where = f"/namespaces/{self.namespace}" if "namespace" in owned["metadata"] else ""
                self._post(f"{RBAC}{where}/{manifest['kind'].lower()}s", manifest)
        rules = [rule for role in made for rule in role["rules"]]
        for _ in range(200):
            if self._may(rules[0]) and self._may(rules[-1]):
                return
            time.sleep(0.05)  # noqa: TID251 - the real server takes real time
        raise AssertionError("the server did not notice the roles")

    def kubeconfig(self) -> Path:
        """The credentials of the account."""
        path = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{NAME}/token"
        token = self.admin.post(path, {"spec": {"expirationSeconds": 3600}}).body["status"]["token"]
        config = yaml.safe_load(self._plane.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": token}
        file = self._folder / f"{self.namespace}.yaml"
        file.write_text(yaml.safe_dump(config))
        return file

    def close(self) -> None:
        """Delete the namespace and what is outside of it."""
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


async def refused(stage: Stage) -> set[str]:
    """Live through everything, twice started; what was refused, until the first of it."""
    transport = RecordingTransport(HttpTransport(await load_endpoint(stage.kubeconfig())))
    try:
        await _live(stage, transport)
    except (UsageError, _RefusedError):
        pass  # what follows would only fail for the same reason
    finally:
        await transport.close()
        # A TLS connection whose stream was cut off ends a moment after its session does.
        await asyncio.sleep(0.25)  # noqa: TID251 - real time
    return {_right_of(each.request) for each in transport.log if each.status == 403}


def _right_of(request: HttpRequest) -> str:
    """The right that a request needs, as tests call it: ``patch gadgets/status``."""
    steps = request.path.split("/")
    steps = steps[4:] if request.path.startswith("/apis/") else steps[3:]
    if steps[0] == "namespaces" and len(steps) > 2:
        steps = steps[2:]
    verb = _VERBS.get(request.method) or ("get" if len(steps) > 1 else "list")
    if ("watch", "true") in request.query or ("watch", "1") in request.query:
        verb = "watch"
    return f"{verb} {'/'.join([steps[0], *steps[2:]])}"


async def _live(stage: Stage, transport: RecordingTransport) -> None:
    gadgets = f"/apis/roles.myrmidon.dev/v1/namespaces/{stage.namespace}/gadgets"
    stage.admin.post(
        gadgets,
        {"apiVersion": "roles.myrmidon.dev/v1", "kind": "Gadget", "metadata": {"name": "a"}},
    )

    def settled(text: str) -> bool:
        maps = stage.admin.get(f"/api/v1/namespaces/{stage.namespace}/configmaps").body["items"]
        texts = [each["data"]["text"] for each in maps if each["metadata"]["name"].startswith("a-")]
        return texts == [text, text] and _is_ready(stage.admin.get(f"{gadgets}/a").body)

    def counted() -> bool:
        events = stage.admin.get(f"/api/v1/namespaces/{stage.namespace}/events").body["items"]
        return any(each["reason"] == "Made" and each["count"] > 1 for each in events)

    async with _running(stage, transport):
        await _until(lambda: settled(""), transport)
        _edit(stage, f"{gadgets}/a", "new")
        await _until(lambda: settled("new") and counted(), transport)
    async with _running(stage, transport):
        adopted = lambda: any(_is_event_read(each.request) for each in transport.log)  # noqa: E731
        await _until(adopted, transport)
        stage.admin.delete(f"{gadgets}/a")
        await _until(lambda: stage.admin.get(f"{gadgets}/a").status == 404, transport)


def _edit(stage: Stage, path: str, text: str) -> None:
    obj = stage.admin.get(path).body
    obj["spec"] = {"text": text}
    stage.admin.request("PUT", path, obj)


def _is_ready(obj: Json) -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _is_event_read(request: HttpRequest) -> bool:
    return request.method == "GET" and "/events/" in request.path


class _running:  # noqa: N801 - used as a verb
    """A manager that runs until the block is left."""

    def __init__(self, stage: Stage, transport: RecordingTransport) -> None:
        options = ManagerOptions(
            leader_election=True,
            leader_election_id=NAME,
            leader_election_namespace=stage.namespace,
            namespaces=(stage.namespace,),
        )
        self._manager = Manager(options, transport=_Kept(transport))
        self._manager.add(Gadgets())

    async def __aenter__(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._manager.run())
        await asyncio.sleep(0)  # noqa: TID251 - real time

    async def __aexit__(self, *_: object) -> None:
        self._manager.stop()
        await self._task


class _Kept:
    """A transport that outlives the manager which closes it."""

    def __init__(self, inner: RecordingTransport) -> None:
        self.send, self.stream = inner.send, inner.stream

    async def close(self) -> None:
        """Not yet."""


async def _until(holds: Callable[[], bool], transport: RecordingTransport) -> None:
    for _ in range(int(SECONDS_MAX / 0.1)):
        if any(each.status == 403 for each in transport.log):
            raise _RefusedError
        if await asyncio.to_thread(holds):
            return
        await asyncio.sleep(0.1)  # noqa: TID251 - real time
    raise AssertionError("it did not come to pass")


@pytest.fixture(scope="module")
def plane(controlplane: ControlPlane) -> Iterator[ControlPlane]:
    """A server that knows gadgets."""
    definition = crd(Gadget)
    path = f"{CRDS}/{definition['metadata']['name']}"
    assert controlplane.client().post(CRDS, definition).status == 201
    gadgets = "/apis/roles.myrmidon.dev/v1/gadgets"
    for _ in range(300):
        if controlplane.client().get(gadgets).status == 200:
            break
        time.sleep(0.05)  # noqa: TID251 - the real server takes real time
    yield controlplane
    controlplane.client().delete(path)


@pytest.fixture
def stage(plane: ControlPlane, tmp_path: Path) -> Iterator[Stage]:
    """A stage of the test's own."""
    made = Stage(plane, tmp_path)
    yield made
    made.close()


def generated(namespace: str) -> list[Json]:
    """The roles that `myrmidon generate rbac` writes."""
    return [*roles([Gadgets], NAME), lease_role(NAME, namespace, NAME)]


RIGHTS = [
    (at, number, verb)
    for at, role in enumerate(generated("x"))
    for number, rule in enumerate(role["rules"])
    for verb in rule["verbs"]
]


def _called(right: tuple[int, int, str]) -> str:
    at, number, verb = right
    return f"{verb} {generated('x')[at]['rules'][number]['resources'][0]}"


def test_the_generated_roles_suffice(stage: Stage) -> None:
    """Not one request of a whole life is refused."""
    stage.give(generated(stage.namespace))

    assert asyncio.run(refused(stage)) == set()


@pytest.mark.parametrize("right", RIGHTS, ids=_called)
def test_no_right_is_superfluous(stage: Stage, right: tuple[int, int, str]) -> None:
    """Without it something is refused."""
    at, number, verb = right
    made = generated(stage.namespace)
    rule = made[at]["rules"][number]
    rule["verbs"].remove(verb)
    if not rule["verbs"]:
        del made[at]["rules"][number]
    stage.give(made)

    # Owner references are refused on the child, for want of a right on its owner.
    expected = "create configmaps" if "finalizers" in _called(right) else _called(right)
    assert asyncio.run(refused(stage)) == {expected}
