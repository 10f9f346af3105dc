"""Each example under its generated roles: they suffice, and nothing in them is superfluous.

An example lives a whole life on the real server, as a ServiceAccount that holds what
`myrmidon generate rbac` writes and nothing else: create, change, the other branch, repair of drift,
answers that get lost, suspension (which records events), restart, deletion.  No request may be refused.
Then the same again, once for every single right, without it: each time that very request must be
refused.
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from examples.config_copy.controller import ConfigCopies, ConfigCopy
from examples.database_claim.controller import DatabaseClaim, DatabaseClaims, DatabaseClass
from examples.database_claim.service import DatabaseService
from examples.web_app.controller import InMemoryRegistry, WebApp, WebApps
from myrmidon.api import HttpRequest
from myrmidon.fsm import Controller
from myrmidon.fsm.metadata.suspension import SUSPEND
from myrmidon.generate import crd, lease_role, roles
from myrmidon.testing.faults.transport import Fault, Lose
from myrmidon.testing.harness.recording import RecordingTransport
from tests.cluster.accounts import (
    CRDS,
    NAME,
    Life,
    Right,
    Stage,
    define,
    is_event_read,
    is_ready,
    refused,
    rights_in,
    running,
    undefine,
    until,
    wait_for,
    without,
)
from tests.cluster.controlplane.controlplane import ControlPlane

_CLASSES = "/apis/demo.myrmidon.dev/v1/databaseclasses"
_TYPE = {"apiVersion": "demo.myrmidon.dev/v1", "kind": "DatabaseClass"}
MERGE = "application/merge-patch+json"
SOON = timedelta(milliseconds=100)

Json = dict[str, Any]


class LostAnswers:
    """The first write of each kind gets no response: only a read tells its result."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def __call__(self, request: HttpRequest) -> Fault | None:
        """Lose the responses to creates of children, and to a status of the parent."""
        is_status = request.method == "PATCH" and request.path.endswith("/status")
        is_child = request.method == "POST" and not request.path.endswith(("/leases", "/events"))
        if not (is_status or is_child) or request.path in self._seen:
            return None
        self._seen.add(request.path)
        return Lose()


# ---------------------------------------------------------------------------- the lives


class _Object:
    """An object as its user handles it."""

    def __init__(self, stage: Stage, path: str) -> None:
        self._stage, self._path = stage, path

    def now(self) -> Json:
        body: Json = self._stage.admin.get(self._path).body
        return body

    def is_gone(self) -> bool:
        return self._stage.admin.get(self._path).status == 404

    def change(self, change: Json, subresource: str = "") -> None:
        answer = self._stage.admin.request("PATCH", self._path + subresource, change, MERGE)
        assert answer.status in (200, 404), answer.body

    def delete(self) -> None:
        self._stage.admin.delete(self._path)


async def _web_app(stage: Stage, transport: RecordingTransport) -> None:
    """Both branches, and drift of every kind."""

    def at(root: str, plural: str) -> _Object:
        return _Object(stage, f"{root}/namespaces/{stage.namespace}/{plural}/shop")

    app = at("/apis/demo.myrmidon.dev/v1", "webapps")
    config, service = at("/api/v1", "configmaps"), at("/api/v1", "services")
    deployment = at("/apis/apps/v1", "deployments")
    ingress = at("/apis/networking.k8s.io/v1", "ingresses")

    def play_kubelet() -> None:
        seen = deployment.now()
        if "spec" in seen:
            count = seen["spec"]["replicas"]
            fields = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
            status = {"observedGeneration": seen["metadata"]["generation"]}
            deployment.change({"status": status | dict.fromkeys(fields, count)}, "/status")

    def is_as_declared() -> bool:
        play_kubelet()
        seen = [each.now() for each in (config, deployment, service, ingress)]
        if not all("metadata" in each for each in seen):
            return False
        return is_ready(app.now()) and [
            seen[0]["data"]["PORT"],
            seen[1]["spec"]["replicas"],
            seen[2]["spec"]["selector"]["app.kubernetes.io/name"],
            seen[3]["spec"]["rules"][0]["host"],
        ] == ["8080", 1, "shop", "shop.example.com"]

    def is_hidden() -> bool:
        play_kubelet()
        return ingress.is_gone() and "url" not in app.now()["status"]

    controller = _hasty(WebApps(InMemoryRegistry(drain=timedelta(0))))
    _create(stage, WebApp, "shop", {"image": "shop:1", "hosts": ["shop.example.com"]})
    async with running(stage, controller, transport, faults=LostAnswers()):
        await until(is_as_declared, transport)
        config.change({"data": {"PORT": "1"}})
        deployment.change({"spec": {"replicas": 3}})
        service.change({"spec": {"selector": {"app.kubernetes.io/name": "other"}}})
        ingress.change({"spec": {"rules": [{"host": "other.example.com"}]}})
        await until(is_as_declared, transport)
        app.change({"spec": {"hosts": []}})
        await until(is_hidden, transport)
        await _suspend_and_delete(stage, app, transport)
    async with running(stage, controller, transport):
        await _resume(app, transport)


async def _config_copy(stage: Stage, transport: RecordingTransport) -> None:
    """Copies in two namespaces, of which one is removed from the list."""
    namespaces = [_namespace(stage, name) for name in ("ours", "theirs")]
    source, ours, theirs = (
        _Object(stage, f"/api/v1/namespaces/{each}/configmaps/settings")
        for each in (stage.namespace, *namespaces)
    )
    copies = f"/apis/demo.myrmidon.dev/v1/namespaces/{stage.namespace}/configcopies"
    copy = _Object(stage, f"{copies}/settings")

    def levels(*expected: str | None) -> Callable[[], bool]:
        def hold() -> bool:
            seen = [(each.now().get("data") or {}).get("level") for each in (ours, theirs)]
            return seen == list(expected) and is_ready(copy.now())

        return hold

    body = {"metadata": {"name": "settings"}, "data": {"level": "info"}}
    stage.admin.post(f"/api/v1/namespaces/{stage.namespace}/configmaps", body)
    _create(stage, ConfigCopy, "settings", {"namespaces": namespaces})
    controller = _hasty(ConfigCopies())
    async with running(stage, controller, transport, faults=LostAnswers()):
        await until(levels("info", "info"), transport)
        ours.change({"data": {"level": "drift"}})
        await until(levels("info", "info"), transport)
        source.change({"data": {"level": "debug"}})
        await until(levels("debug", "debug"), transport)
        copy.change({"spec": {"namespaces": namespaces[:1]}})
        await until(levels("debug", None), transport)
        await _suspend_and_delete(stage, copy, transport)
    async with running(stage, controller, transport):
        await _resume(copy, transport)
        assert ours.is_gone()


async def _database_claim(stage: Stage, transport: RecordingTransport) -> None:
    """A database, a copy of its Secret that drifts and is removed, and the deletion of both."""
    apps, small = _namespace(stage, "apps"), f"small-{uuid4().hex[:8]}"
    claims = f"/apis/demo.myrmidon.dev/v1/namespaces/{stage.namespace}/databaseclaims"
    claim = _Object(stage, f"{claims}/orders")
    copy = _Object(stage, f"/api/v1/namespaces/{apps}/secrets/orders-database")

    def is_published() -> bool:
        username = (copy.now().get("data") or {}).get("username")
        return is_ready(claim.now()) and username == "YXBw"

    service = DatabaseService()
    with service.serving() as address:
        body = {"metadata": {"name": small}, "spec": {"service": address}}
        assert stage.admin.post(_CLASSES, {**_TYPE, **body}).status == 201
        _create(stage, DatabaseClaim, "orders", {"className": small, "copyTo": apps})
        controller = _hasty(DatabaseClaims())
        async with running(stage, controller, transport, faults=LostAnswers()):
            await until(is_published, transport)
            copy.change({"data": {"username": "eA=="}})
            await until(is_published, transport)
            claim.change({"spec": {"copyTo": None}})
            await until(copy.is_gone, transport)
            await _suspend_and_delete(stage, claim, transport)
        async with running(stage, controller, transport):
            await _resume(claim, transport)
            assert (service.databases, service.created) == ({}, 1)
        stage.admin.delete(f"{_CLASSES}/{small}")


async def _suspend_and_delete(stage: Stage, obj: _Object, transport: RecordingTransport) -> None:
    """A deletion that waits is an event; a repeated one is counted."""
    obj.change({"metadata": {"labels": {SUSPEND: "true"}}})
    obj.delete()

    def said(times: int) -> bool:
        events = stage.admin.get(f"/api/v1/namespaces/{stage.namespace}/events").body["items"]
        return any(each["reason"] == "Suspended" and each["count"] >= times for each in events)

    await until(lambda: said(1), transport)
    obj.change({"metadata": {"labels": {"still": "there"}}})
    await until(lambda: said(2), transport)


async def _resume(obj: _Object, transport: RecordingTransport) -> None:
    """After a restart the event of the earlier process is found; then the deletion continues."""
    found = lambda: any(is_event_read(each.request) for each in transport.log)  # noqa: E731
    await until(found, transport)
    obj.change({"metadata": {"labels": {SUSPEND: None}}})
    await until(obj.is_gone, transport)


def _create(stage: Stage, resource: Any, name: str, spec: Json) -> None:
    kind = resource.KIND
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}}
    path = f"{kind.root}/namespaces/{stage.namespace}/{kind.plural}"
    answer = stage.admin.post(path, body | {"spec": spec})
    assert answer.status == 201, answer.body


def _namespace(stage: Stage, name: str) -> str:
    made = f"{name}-{uuid4().hex[:8]}"
    assert stage.admin.post("/api/v1/namespaces", {"metadata": {"name": made}}).status == 201
    return made


def _hasty(controller: Controller[Any]) -> Controller[Any]:
    """Return the same controller with a short backoff."""
    options = replace(controller.options, retry_min=SOON)
    setattr(controller, "options", options)  # noqa: B010 - of this object alone
    return controller


# ---------------------------------------------------------------------------- the tests

LIVES: dict[type[Controller[Any]], Life] = {
    ConfigCopies: _config_copy,
    DatabaseClaims: _database_claim,
    WebApps: _web_app,
}


def generated(controller: type[Controller[Any]], namespace: str) -> list[Json]:
    """Return the roles that `myrmidon generate rbac` writes."""
    return [*roles([controller], NAME), lease_role(NAME, namespace, NAME)]


def _each_right() -> Iterator[Any]:
    for controller in LIVES:
        for right in rights_in(generated(controller, "x")):
            yield pytest.param(controller, right, id=f"{controller.__name__}: {right}")


@pytest.fixture(scope="module")
def plane(controlplane: ControlPlane) -> Iterator[ControlPlane]:
    """Return a server with the definitions of the examples."""
    admin = controlplane.client()
    assert admin.post(CRDS, crd(DatabaseClass)).status == 201  # owns nothing: no need to wait long
    wait_for(lambda: admin.get(_CLASSES).status == 200)
    for controller in LIVES:
        define(controlplane, controller.resource)
    yield controlplane
    for controller in LIVES:
        undefine(admin, controller.resource)
    undefine(admin, DatabaseClass)


@pytest.fixture
def stage(plane: ControlPlane, tmp_path: Path) -> Iterator[Stage]:
    """Return a stage for the test.

    Controllers see all namespaces, so nothing may be left behind.
    """
    made = Stage(plane, tmp_path, [controller.resource for controller in LIVES])
    yield made
    made.close()


@pytest.mark.parametrize("controller", LIVES)
def test_the_generated_roles_suffice(stage: Stage, controller: type[Controller[Any]]) -> None:
    """No request of a whole life is refused."""
    stage.give(generated(controller, stage.namespace))

    assert asyncio.run(refused(stage, LIVES[controller])) == set()


@pytest.mark.parametrize(("controller", "right"), list(_each_right()))
def test_no_right_is_superfluous(
    stage: Stage, controller: type[Controller[Any]], right: Right
) -> None:
    """Without it that very request is refused."""
    stage.give(without(generated(controller, stage.namespace), right))

    seen = asyncio.run(refused(stage, LIVES[controller]))
    if right.resource.endswith("/finalizers"):
        # Owner references on the children are refused for lack of a right on their owner.
        children = {f"create {kind.plural}" for kind in controller.managed_kinds}
        assert seen
        assert seen <= children
    else:
        assert seen == {str(right)}
