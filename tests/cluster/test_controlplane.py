"""The control plane behaves as the other cluster tests expect."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.controlplane.controlplane import DEV_TOKEN, ControlPlane
from tests.cluster.controlplane.processes import wait_until


def config_map(name: str, **metadata: Any) -> dict[str, Any]:
    """Write the smallest object there is."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


def config_maps(namespace: str) -> str:
    """Give the path of a namespace's ConfigMaps."""
    return f"/api/v1/namespaces/{namespace}/configmaps"


def test_it_is_the_version_of_our_records(controlplane: ControlPlane) -> None:
    """The golden answers were recorded from 1.36; another minor version answers differently."""
    version = controlplane.client().get("/version").body

    assert version["gitVersion"].startswith("v1.36.")


def test_wrong_token_is_401(controlplane: ControlPlane) -> None:
    """A token that is not in the file is refused."""
    assert controlplane.client("wrong-token").status("/version") == 401


def test_dev_is_known_and_has_no_rights(controlplane: ControlPlane, namespace: str) -> None:
    """RBAC is on: without a role binding the user dev is forbidden even to read."""
    answer = controlplane.client(DEV_TOKEN).get(config_maps(namespace))

    assert answer.status == 403
    assert 'User "dev" cannot list resource "configmaps"' in answer.body["message"]


def test_kubectl_reads_the_kubeconfig(controlplane: ControlPlane, kubeconfig: Path) -> None:
    """Other clients can use the kubeconfig that we write."""
    kubectl = str(controlplane.binaries.kubectl)
    command = [kubectl, f"--kubeconfig={kubeconfig}", "get", "namespace", "default"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stderr
    assert "Active" in result.stdout


def test_garbage_collector_deletes_orphan(controlplane: ControlPlane, namespace: str) -> None:
    """An object whose only owner is deleted is deleted, too."""
    client = controlplane.client()
    path = config_maps(namespace)
    owner = client.post(path, config_map("owner")).body
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
    }
    child = client.post(path, config_map("child", ownerReferences=[reference]))
    assert child.status == 201, child.body

    client.delete(f"{path}/owner")

    wait_until(lambda: client.status(f"{path}/child") == 404, "child is deleted", 60)


def test_a_deleted_namespace_is_emptied(controlplane: ControlPlane) -> None:
    """The namespace controller deletes its objects and then the namespace."""
    client = controlplane.client()
    client.post("/api/v1/namespaces", {"metadata": {"name": "doomed"}})
    client.post(config_maps("doomed"), config_map("a"))

    client.delete("/api/v1/namespaces/doomed")

    wait_until(lambda: client.status("/api/v1/namespaces/doomed") == 404, "doomed is gone", 60)
    assert client.status(f"{config_maps('doomed')}/a") == 404


def test_objects_outlive_the_apiserver(controlplane: ControlPlane, namespace: str) -> None:
    """A killed API server is down at once, and restarts at the same address with its data."""
    client = controlplane.client()
    client.post(config_maps(namespace), config_map("kept"))
    url = controlplane.url

    controlplane.kill_apiserver()
    assert client.status("/readyz") == 0
    controlplane.start_apiserver()

    assert controlplane.url == url
    assert client.status(f"{config_maps(namespace)}/kept") == 200


def test_objects_outlive_a_restart(controlplane: ControlPlane, namespace: str) -> None:
    """All processes can be stopped and started again, even while they are paused."""
    client = controlplane.client()
    client.post(config_maps(namespace), config_map("kept"))
    controlplane.pause_etcd()

    controlplane.restart()

    assert client.status(f"{config_maps(namespace)}/kept") == 200


def test_paused_etcd_stalls_writes(controlplane: ControlPlane, namespace: str) -> None:
    """A write hangs while etcd is paused, and is executed afterwards."""
    hasty = controlplane.client(timeout=1)
    path = config_maps(namespace)

    controlplane.pause_etcd()
    try:
        with pytest.raises(TimeoutError):
            hasty.post(path, config_map("stalled"))
    finally:
        controlplane.resume_etcd()

    wait_until(lambda: hasty.status("/readyz") == 200, "ready again", 30)
    assert controlplane.client().post(path, config_map("after")).status == 201


def test_audit_log_names_the_writer(controlplane: ControlPlane, namespace: str) -> None:
    """The log says who wrote what, as soon as the write is answered."""
    controlplane.client().post(config_maps(namespace), config_map("mine"))

    [event] = [
        event
        for event in controlplane.audit_events()
        if event["verb"] == "create" and event["requestURI"].startswith(config_maps(namespace))
    ]
    assert event["user"]["username"] == "admin"
    assert event["objectRef"]["resource"] == "configmaps"
