"""Outages of the server, and of the rights to use it, from which the controller recovers.

As in ``test_faults``: a fault begins, the application is changed meanwhile, the fault ends.
"""

import logging
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from myrmidon.testing.faults.transport import Delay, is_write
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.controlplane.processes import wait_until
from tests.cluster.lives import (
    DEFINITION,
    SECONDS_MAX,
    Json,
    Life,
    condition,
    install,
    new_namespace,
    write_kubeconfig,
)
from tests.cluster.proxy import Proxy
from tests.cluster.running import REQUEST_SECONDS, Running, check_rest, running

BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


@pytest.fixture
def life(plane: ControlPlane) -> Iterator[Life]:
    """Return an application beside an object of another party, which must not change."""
    life = Life(plane, new_namespace(plane))
    foreign = life.put_foreign()
    yield life
    found = life.foreign()
    life.close()
    assert found in (foreign, None), "an object of another party was changed"


def wait_not_ready(manager: Running) -> str:
    """Wait until readyz fails; return its reason."""
    wait_until(lambda: not manager.is_ready(), "not ready", SECONDS_MAX)
    return manager.readyz()[1]


# ------------------------------------------------------------------------------- the server


def test_the_server_is_killed_and_comes_back(manager: Running, plane: ControlPlane) -> None:
    """Every connection breaks, and new ones are refused for a while."""
    life = manager.life
    life.change(image="shop:2")
    plane.kill_apiserver()
    try:
        assert "no message from the server for" in wait_not_ready(manager)
    finally:
        plane.start_apiserver()
    life.change(replicas=3)
    check_rest(manager)


def test_the_history_is_compacted(
    life: Life, plane: ControlPlane, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The versions of all watches are too old: a new list notices a deletion."""
    caplog.set_level(logging.INFO, "myrmidon.io.watch.reflector")
    with Proxy(plane.port) as proxy:
        kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", plane, port=proxy.port)
        with running(life, kubeconfig) as manager:
            proxy.shut()
            plane.pause_manager()
            try:
                change_much(life)
                plane.kill_apiserver()  # its watch caches keep more history than etcd
                compacted = plane.compact_etcd()
            finally:
                plane.start_apiserver()
                plane.resume_manager()
            before = len(life.own_writes())
            proxy.heal()
            check_rest(manager, **{"services shop": 2})
            later = Counter((one.verb, one.resource) for one in life.own_writes()[before:])
    said = [record.getMessage() for record in caplog.records]
    assert any("too old resource version" in line for line in said), said
    assert compacted > 0
    assert later.pop(("patch", "webapps/status")) <= MOVES_MAX
    assert later == {
        ("create", "services"): 1,
        ("patch", "configmaps"): 1,
        ("patch", "deployments"): 1,
    }


MOVES_MAX = 4  # of the application through its states


def change_much(life: Life) -> None:
    """Change the application often, and delete children as another client."""
    for number in range(2, 40):
        life.change(image=f"shop:{number}", replicas=number % 3)
    life.delete_child("services")
    service = f"/api/v1/namespaces/{life.namespace}/services/shop"
    wait_until(lambda: life.client.status(service) == 404, "deleted", SECONDS_MAX)


def test_etcd_is_paused(manager: Running, plane: ControlPlane) -> None:
    """Writes hang for longer than we wait for them, and may still take effect afterwards.

    Watches can be opened in the meantime; readyz says that they deliver nothing.
    """
    life = manager.life
    manager.trouble.begin(Delay(0.5), is_write, times=1)
    life.change(image="shop:2")
    plane.pause_etcd()
    try:
        manager.trouble.wait_for_hits()
        pause(REQUEST_SECONDS + 2)
        assert "no message from the server for" in wait_not_ready(manager)
    finally:
        plane.resume_etcd()
    wait_until(lambda: life.client.status("/readyz") == 200, "server ready", SECONDS_MAX)
    life.change(replicas=3)
    check_rest(manager)


def pause(seconds: float) -> None:
    """Let time pass."""
    threading.Event().wait(seconds)


# ------------------------------------------------------------------------------- the rights


def bind(life: Life, user: Json) -> str:
    """Give a user all rights; return the path of the binding."""
    name = f"{life.namespace}-all"
    body = {
        "metadata": {"name": name},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [user],
    }
    made = life.client.post(BINDINGS, body)
    assert made.status == 201, made.body
    return f"{BINDINGS}/{name}"


def test_rights_are_revoked_and_granted_again(life: Life, tmp_path: Path) -> None:
    """A 403 is not a 404: the cache is kept, nothing is deleted, and readyz says why."""
    user = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "operator"}
    binding = bind(life, user)
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", life.plane, {"as": "operator"})
    with running(life, kubeconfig) as manager:
        before = life.world()
        assert life.client.delete(binding).status == 200
        assert "forbidden" in wait_not_ready(manager)
        assert life.world() == before
        life.change(image="shop:2")
        bind(life, user)
        check_rest(manager)
    life.client.delete(binding)


def new_token(life: Life) -> str:
    """Create the service account again; tokens of the old one become invalid."""
    accounts = f"/api/v1/namespaces/{life.namespace}/serviceaccounts"
    life.client.delete(f"{accounts}/operator")
    made = life.client.post(accounts, {"metadata": {"name": "operator"}})
    assert made.status == 201, made.body
    body: Json = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = life.client.post(f"{accounts}/operator/token", body)
    assert token.status == 201, token.body
    return str(token.body["status"]["token"])


def test_a_token_expires_and_is_replaced(life: Life, tmp_path: Path) -> None:
    """Until the file is replaced every request gets a 401; then the new token is used."""
    account = {"kind": "ServiceAccount", "name": "operator", "namespace": life.namespace}
    binding = bind(life, account)
    file = tmp_path / "token"
    file.write_text(new_token(life))
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", life.plane, {"tokenFile": "token"})
    with running(life, kubeconfig) as manager:
        token = new_token(life)
        assert "Unauthorized" in wait_not_ready(manager)
        life.change(image="shop:2")
        file.write_text(token)
        check_rest(manager)
    life.client.delete(binding)


# -------------------------------------------------------------------------------- the kinds


def test_a_definition_is_removed_and_restored(manager: Running, plane: ControlPlane) -> None:
    """All objects of the kind are deleted with it; later ones are new objects."""
    life = manager.life
    assert plane.client().delete(DEFINITION).status == 200
    wait_until(lambda: plane.client().status(DEFINITION) == 404, "removed", SECONDS_MAX)
    wait_not_ready(manager)
    install(plane)
    wait_until(manager.is_ready, "ready", SECONDS_MAX)
    life.create(image="shop:3", hosts=["shop.example"])
    check_rest(
        manager,
        **{
            "configmaps shop-config": 2,
            "clusterroles *-shop": 2,
            "deployments shop": 2,
            "services shop": 2,
            "ingresses shop": 2,
        },
    )


def test_a_namespace_is_deleted(life: Life, kubeconfig: Path) -> None:
    """Nothing can be created in it; objects with a finalizer are finalized, and it is removed."""
    path = f"/api/v1/namespaces/{life.namespace}"
    with running(life, kubeconfig) as manager:
        assert life.client.delete(path).status == 200
        wait_until(lambda: life.client.status(path) == 404, "gone", SECONDS_MAX)
        assert life.world() == {}
        assert max(life.made().values()) == 1
        assert manager.is_ready()


def test_a_namespace_that_terminates_slowly(
    life: Life, plane: ControlPlane, kubeconfig: Path
) -> None:
    """A deleted child cannot be created again: the condition says so, with few retries."""
    path = f"/api/v1/namespaces/{life.namespace}"
    with running(life, kubeconfig):
        plane.pause_manager()
        try:
            assert life.client.delete(path).status == 200
            life.delete_child("services")
            wait_until(lambda: deployed(life) == "NamespaceTerminating", "said so", SECONDS_MAX)
            before = len(life.own_writes())
            pause(4)
            assert len(life.own_writes()) - before < 10, "too many retries"
        finally:
            plane.resume_manager()
        wait_until(lambda: life.client.status(path) == 404, "gone", SECONDS_MAX)
        assert life.world() == {}


def deployed(life: Life) -> str:
    """Return why the application is not deployed."""
    return str(condition(life.app() or {}, "Deployed").get("reason"))
