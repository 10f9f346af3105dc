"""Q6 on a real server: two processes, one lease, and never two writers.

Each process has a user of its own, so the API server's audit log says who wrote what and when.
"""

import os
import signal
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from subprocess import Popen
from time import monotonic

import pytest
import yaml

from myrmidon.api.kinds import LEASE
from myrmidon.api.objects import Json
from tests.cluster.controlplane.client import Client
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.controlplane.processes import wait_until
from tests.cluster.shops import Shop, start, stop

TERMS = "4,2.5,0.5"
LEASE_SECONDS = 4.0
NAMES = ("one", "two")


def kubeconfig_of(plane: ControlPlane, namespace: str, name: str) -> Path:
    """A kubeconfig for a service account of its own, which may do everything."""
    client: Client = plane.client()
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    assert client.post(accounts, {"metadata": {"name": name}}).status == 201
    binding = {
        "metadata": {"name": f"{namespace}-{name}"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }
    bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    assert client.post(bindings, binding).status == 201
    token = client.post(f"{accounts}/{name}/token", {"spec": {"expirationSeconds": 3600}})
    assert token.status == 201, token.body
    config = yaml.safe_load(plane.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token.body["status"]["token"]}
    path = plane.folder / f"{namespace}-{name}.kubeconfig"
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config))
    return path


class Pair:
    """Two processes that want one lease."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.agents = {name: f"{shop.namespace}-{name}" for name in NAMES}
        self.processes: dict[str, Popen[bytes]] = {}

    def start(self, name: str) -> None:
        """Start one of them."""
        config = kubeconfig_of(self.shop.plane, self.shop.namespace, name)
        more = ("--lease=shops", f"--terms={TERMS}")
        self.processes[name] = start(config, self.shop.namespace, self.agents[name], *more)

    def holder(self) -> str:
        """Who holds the lease."""
        lease = self.shop.get(LEASE, "shops")
        held = str(((lease or {}).get("spec") or {}).get("holderIdentity") or "")
        return held.removeprefix(f"{self.shop.namespace}-")

    def wait_led_by(self, name: str, seconds: float = 30.0) -> float:
        """Wait until one holds the lease; how long that took."""
        began = monotonic()
        wait_until(lambda: self.holder() == name, f"led by {name}", seconds)
        return monotonic() - began

    def writes(self, name: str) -> list[Json]:
        """What one of them has written, as the server took it, the lease aside."""
        user = f"system:serviceaccount:{self.shop.namespace}:{name}"
        return [
            event
            for event in self.shop.writes(self.agents[name])
            if event["user"]["username"] == user
        ]


@pytest.fixture
def pair(controlplane: ControlPlane, namespace: str) -> Iterator[Pair]:
    """Two processes, the first of which leads and has made the application ready."""
    made = Pair(Shop(controlplane, namespace))
    try:
        made.start("one")
        made.wait_led_by("one")
        made.start("two")
        made.shop.create()
        made.shop.wait_ready()
        wait_until(lambda: _is_warm(controlplane, made), "the standby's caches")
        yield made
    finally:
        for process in made.processes.values():
            if process.poll() is None:
                os.kill(process.pid, signal.SIGCONT)
            stop(process)


def _is_warm(plane: ControlPlane, pair: Pair) -> bool:
    log = plane.folder / f"{pair.agents['two']}.log"
    return "caches in sync" in log.read_text()


def at(event: Json, key: str) -> datetime:
    """When a request came or was answered, by the server's clock."""
    return datetime.fromisoformat(event[key])


def assert_one_after_the_other(pair: Pair) -> None:
    """No write of the first is received after the first write of the second."""
    first, second = pair.writes("one"), pair.writes("two")
    assert first
    assert second
    last = max(at(event, "requestReceivedTimestamp") for event in first)
    assert last < min(at(event, "requestReceivedTimestamp") for event in second)


def test_leader_is_killed(pair: Pair) -> None:
    """Kill -9: the standby takes over within the lease and two seconds, and finishes the job."""
    assert pair.writes("two") == []
    pair.processes["one"].kill()
    pair.shop.change(image="shop:2")
    took = pair.wait_led_by("two")
    assert took <= LEASE_SECONDS + 2
    pair.shop.wait_ready()
    assert_one_after_the_other(pair)


def test_leader_is_stopped_in_its_tracks(pair: Pair) -> None:
    """SIGSTOP past the lease, in the middle of its work, then SIGCONT: it sends nothing and ends."""
    for number in range(10):
        pair.shop.change(image=f"shop:{number}", replicas=number % 3)
    os.kill(pair.processes["one"].pid, signal.SIGSTOP)
    pair.shop.change(image="shop:last")
    pair.wait_led_by("two")
    pair.shop.wait_ready()

    os.kill(pair.processes["one"].pid, signal.SIGCONT)
    for number in range(10):
        pair.shop.change(image=f"shop:{number}", replicas=number % 3)
    assert pair.processes["one"].wait(20) == 1, "it lost the lease and says so"
    pair.shop.wait_ready()
    assert_one_after_the_other(pair)


def test_leader_ends_in_good_order(pair: Pair) -> None:
    """SIGTERM: status 0, and the standby need not wait for the end of the lease."""
    pair.processes["one"].terminate()
    assert pair.processes["one"].wait(20) == 0
    released = monotonic()
    pair.wait_led_by("two")
    assert monotonic() - released < LEASE_SECONDS
    pair.shop.change(image="shop:2")
    pair.shop.wait_ready()
    assert_one_after_the_other(pair)
