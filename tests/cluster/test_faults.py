"""Faults between a controller and a real API server: the world converges, and then rests.

After each: nothing was created twice, nothing foreign was changed, and no write is sent any more.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from myrmidon.api.kinds import CONFIG_MAP, DEPLOYMENT, INGRESS
from myrmidon.api.objects import Json
from myrmidon.api.wire import HttpRequest
from myrmidon.generate import crd
from myrmidon.io.config import load_endpoint
from myrmidon.io.http import HttpTransport
from myrmidon.io.watching import Timing
from myrmidon.runtime import Manager, ManagerOptions
from myrmidon.testing import (
    Break,
    Cut,
    Expire,
    Fault,
    FaultyTransport,
    Lose,
    Refuse,
    Stall,
    Status,
    Truncate,
    is_watch,
    is_write,
)
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.controlplane.processes import wait_until
from tests.cluster.shops import MERGE, Shop
from tests.runtime.webapps import WebApp, WebApps, config_map

CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/webapps.test.myrmidon.dev"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


class Running:
    """A manager in a thread of its own, behind a transport that fails on demand."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self.agent = f"{namespace}-faulty"
        self.faults: Callable[[HttpRequest], Fault | None] = lambda _request: None
        self._kubeconfig, self._namespace = kubeconfig, namespace
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self.manager: Manager | None = None
        self.error: Exception | None = None

    def start(self) -> None:
        """Run, and wait until it works."""
        self._thread.start()
        wait_until(lambda: self._is_up() or not self._thread.is_alive(), "the manager works")
        assert self.error is None, self.error

    def stop(self) -> None:
        """End in good order."""
        if self.manager is not None and self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.manager.stop)
        self._thread.join(30)
        assert not self._thread.is_alive()
        assert self.error is None, self.error

    def _is_up(self) -> bool:
        return self.manager is not None and self.manager._working.is_set()

    def _fault(self, request: HttpRequest) -> Fault | None:
        return self.faults(request)

    async def _run(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.http = HttpTransport(await load_endpoint(self._kubeconfig), user_agent=self.agent)
        transport = FaultyTransport(self.http, self._fault)
        self.manager = Manager(ManagerOptions(namespaces=(self._namespace,)), transport=transport)
        self.manager.add(WebApps())
        try:
            await self.manager.run()
        except Exception as error:  # noqa: BLE001 - for the test to see
            self.error = error
        finally:
            await transport.close()
            # TLS says goodbye; a loop that ends earlier leaves sockets for the garbage collector.
            await asyncio.sleep(0.3)  # noqa: TID251


class Scene:
    """An application that is ready, its controller, and something that belongs to others."""

    def __init__(self, shop: Shop, running: Running) -> None:
        self.shop, self.running = shop, running
        answer = shop.client.post(shop.path(CONFIG_MAP), config_map("theirs", {"a": "b"}))
        assert answer.status == 201
        self._theirs = shop.get(CONFIG_MAP, "theirs")

    def converges(self, seconds: float = 60.0) -> None:
        """What the user asked last holds, and then nobody writes."""
        shop = self.shop
        shop.wait_ready(seconds)
        app, deployment = shop.get(WebApp.KIND, shop.name), shop.get(DEPLOYMENT, shop.name)
        assert app is not None
        assert deployment is not None
        container = deployment["spec"]["template"]["spec"]["containers"][0]
        assert container["image"] == app["spec"]["image"]
        assert (shop.get(INGRESS, shop.name) is not None) == bool(app["spec"].get("hosts"))
        self.rests()

    def rests(self) -> None:
        """No write in a while, nothing made twice, nothing foreign changed."""
        before = len(self.writes())
        threading.Event().wait(1.5)
        assert self.writes()[before:] == []
        twice = [name for name, n in Counter(self.shop.made(self.running.agent)).items() if n > 1]
        assert twice == []
        assert self.shop.get(CONFIG_MAP, "theirs") == self._theirs

    def writes(self) -> list[Json]:
        """What the controller wrote."""
        return self.shop.writes(self.running.agent)


@pytest.fixture
def scene(controlplane: ControlPlane, kubeconfig: Path, namespace: str) -> Iterator[Scene]:
    """An application that is ready."""
    yield from _scene(controlplane, kubeconfig, namespace)


def _scene(plane: ControlPlane, kubeconfig: Path, namespace: str) -> Iterator[Scene]:
    shop = Shop(plane, namespace)
    running = Running(kubeconfig, namespace)
    running.start()
    try:
        made = Scene(shop, running)
        shop.create()
        shop.wait_ready()
        yield made
    finally:
        running.faults = lambda _request: None
        running.stop()


def first(count: int, fault: Fault, when: Callable[[HttpRequest], bool]) -> Any:
    """Let the first requests of a sort fail."""
    left = [count]

    def faults(request: HttpRequest) -> Fault | None:
        if not when(request) or not left[0]:
            return None
        left[0] -= 1
        return fault

    return faults


@pytest.mark.parametrize(
    "fault",
    [
        Status(429, "TooManyRequests", retry_after=1),
        Status(500, "InternalError"),
        Status(503, "ServiceUnavailable"),
        Lose(),
        Truncate(),
        Refuse(),
    ],
    ids=["429", "500", "503", "applied-but-lost", "reset-mid-body", "refused"],
)
def test_writes_that_fail(scene: Scene, fault: Fault) -> None:
    """F08 to F11: each of the next writes fails once, whatever it is."""
    scene.running.faults = first(4, fault, is_write)
    scene.shop.change(image="shop:2", replicas=2, hosts=["a.example"])
    scene.converges()


@pytest.mark.parametrize(
    "fault",
    [Cut(), Break(), Expire(), Status(410, "Expired"), Status(500), Refuse()],
    ids=["cut", "reset", "410-event", "410", "500", "refused"],
)
def test_watches_that_fail(scene: Scene, fault: Fault) -> None:
    """F01, F02, F11: every watch is cut, the next attempts fail, and a change is seen all the same."""
    scene.running.faults = first(12, fault, is_watch)
    _end_watches(scene)
    scene.shop.change(image="shop:2", hosts=["a.example"])
    scene.converges()


def _end_watches(scene: Scene) -> None:
    """Break the connections of all watches, as a load balancer would."""
    connector = scene.running.http._sessions[0].connector
    assert connector is not None

    def cut() -> None:
        for connection in list(connector._acquired):
            if connection.transport is not None:
                connection.transport.abort()

    scene.running.loop.call_soon_threadsafe(cut)


def test_stalled_watch(
    controlplane: ControlPlane, kubeconfig: Path, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F06: connected and silent; it is opened again, and what it missed is seen."""
    monkeypatch.setattr("myrmidon.io.reflector.Timing", partial(Timing, idle_seconds=2.0))
    for scene in _scene(controlplane, kubeconfig, namespace):
        scene.running.faults = first(12, Stall(), is_watch)
        _end_watches(scene)
        scene.shop.change(image="shop:2")
        scene.converges()


def test_api_server_is_killed(scene: Scene) -> None:
    """It comes back on its port, and what was asked before it died is done."""
    plane = scene.shop.plane
    scene.shop.change(image="shop:2", hosts=["a.example"])
    plane.kill_apiserver()
    plane.start_apiserver()
    scene.shop.change(replicas=3)
    scene.converges(120)


def test_etcd_is_paused(scene: Scene) -> None:
    """Writes hang without an answer; when it goes on, so do we."""
    plane = scene.shop.plane
    scene.shop.change(image="shop:2")
    plane.pause_etcd()
    threading.Event().wait(5)
    plane.resume_etcd()
    wait_until(lambda: scene.shop.client.status("/readyz") == 200, "etcd is back", 60)
    scene.shop.change(hosts=["a.example"])
    scene.converges(120)


def test_kind_is_removed_and_restored(scene: Scene) -> None:
    """F29: with the kind its objects are gone; with its return, new ones are seen."""
    client = scene.shop.client
    # Their finalizers would keep the objects, and those the kind: there is nothing wrong with that.
    scene.shop.delete()
    scene.shop.wait_gone(150)  # a garbage collector that lost its server comes back slowly
    client.delete(CRD)
    wait_until(lambda: client.status(CRD) == 404, "the kind is gone", 60)
    assert client.post(CRD.rpartition("/")[0], crd(WebApp)).status == 201
    wait_until(lambda: client.status(scene.shop.path(WebApp.KIND)) == 200, "the kind is back", 60)
    scene.shop.name = "second"
    scene.shop.create(image="shop:2")
    scene.converges(120)


def test_namespace_is_deleted(scene: Scene) -> None:
    """F31: nothing can be made in it any more; our finalizers run, and it can end."""
    client, namespace = scene.shop.client, scene.shop.namespace
    scene.shop.change(hosts=["a.example"])
    client.delete(f"/api/v1/namespaces/{namespace}")
    path = f"/api/v1/namespaces/{namespace}"
    wait_until(lambda: client.status(path) == 404, "the namespace is gone", 120)
    before = len(scene.writes())
    threading.Event().wait(1.5)
    assert scene.writes()[before:] == []
    assert scene.shop.world() == {}


# ------------------------------------------------------------------- rights and tokens


def account(plane: ControlPlane, namespace: str, name: str = "robot") -> str:
    """A new service account's token."""
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    made = plane.client().post(accounts, {"metadata": {"name": name}})
    assert made.status == 201, made.body
    token = plane.client().post(f"{accounts}/{name}/token", {"spec": {}})
    assert token.status == 201, token.body
    return str(token.body["status"]["token"])


def grant(plane: ControlPlane, namespace: str) -> str:
    """Let the account do everything; the path of what grants it."""
    name = f"{namespace}-robot"
    binding = {
        "metadata": {"name": name},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": namespace}],
    }
    assert plane.client().post(BINDINGS, binding).status == 201
    return f"{BINDINGS}/{name}"


@pytest.fixture
def robot(controlplane: ControlPlane, namespace: str) -> Iterator[tuple[Scene, Path]]:
    """An application whose controller has an account of its own, and its token in a file."""
    token = controlplane.folder / f"{namespace}.token"
    token.write_text(account(controlplane, namespace))
    grant(controlplane, namespace)
    config = yaml.safe_load(controlplane.kubeconfig.read_text())
    config["users"][0]["user"] = {"tokenFile": str(token)}
    kubeconfig = controlplane.folder / f"{namespace}.kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(config))
    for scene in _scene(controlplane, kubeconfig, namespace):
        yield scene, token


def test_token_expires(robot: tuple[Scene, Path]) -> None:
    """F30: 401 until the file has the new one; then on as if nothing had been."""
    scene, token = robot
    plane, namespace = scene.shop.plane, scene.shop.namespace
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    plane.client().delete(f"{accounts}/robot")
    old = plane.client(token.read_text())
    wait_until(lambda: old.status("/api/v1/namespaces") == 401, "the token is refused", 60)
    scene.shop.change(image="shop:2")
    wait_until(lambda: _refused(scene, 401), "401 for the controller", 60)

    token.write_text(account(plane, namespace))
    scene.converges(120)


def test_rights_are_revoked_and_granted_again(robot: tuple[Scene, Path]) -> None:
    """F30: 403 is never "not found": nothing is deleted, and with the right everything goes on."""
    scene, _ = robot
    plane, namespace = scene.shop.plane, scene.shop.namespace
    world = scene.shop.world()
    plane.client().delete(f"{BINDINGS}/{namespace}-robot")
    _end_watches(scene)
    scene.shop.change(image="shop:2")
    wait_until(lambda: _refused(scene, 403), "403 for the controller", 60)
    assert set(scene.shop.world()) == set(world)

    grant(plane, namespace)
    scene.converges(120)


def _refused(scene: Scene, code: int) -> bool:
    return any(
        event.get("userAgent") == scene.running.agent
        and event["responseStatus"].get("code") == code
        for event in scene.shop.plane.audit_events()
        if "responseStatus" in event
    )


def test_foreign_owner_is_respected(scene: Scene) -> None:
    """O2 under fire: while writes fail, a child that changed hands is left alone."""
    shop = scene.shop
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "theirs", "controller": True}
    theirs = shop.get(CONFIG_MAP, "theirs")
    assert theirs is not None
    owner["uid"] = theirs["metadata"]["uid"]
    path = shop.path(CONFIG_MAP, f"{shop.name}-config")
    changed = shop.client.request("PATCH", path, {"metadata": {"ownerReferences": [owner]}}, MERGE)
    assert changed.status == 200, changed.body
    scene.running.faults = first(3, Lose(), is_write)
    shop.change(image="shop:2")
    wait_until(lambda: "AlreadyOwned" in str(shop.get(WebApp.KIND, shop.name)), "it says so")
    child = shop.get(CONFIG_MAP, f"{shop.name}-config")
    assert child is not None
    assert child["data"] == {"image": "shop:1"}
    scene.rests()
