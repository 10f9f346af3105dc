"""The real kube-controller-manager, with protobuf, on the embedded server."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.apiserver.clients.commands import server
from tests.apiserver.clients.kubectl import Kubectl
from tests.cluster.controlplane.binaries import Binaries, UnavailableError, find
from tests.cluster.controlplane.controlplane import command
from tests.cluster.controlplane.pki import write_pki
from tests.cluster.controlplane.processes import Group, Process, wait_until

CONTROLLERS = "deployment-controller,replicaset-controller,endpointslice-controller"


@pytest.fixture(scope="module")
def binaries() -> Binaries:
    """The programs of a control plane."""
    try:
        return find()
    except UnavailableError as error:
        pytest.skip(str(error))


def test_its_controllers_work_with_protobuf(binaries: Binaries, tmp_path: Path) -> None:
    """Its typed clients send, list and watch everything in protobuf: pods and endpoints appear."""
    write_pki(tmp_path / "pki")
    group = Group()
    with server(tmp_path, "--tls", "--token", "admin-token") as served:
        arguments = command(
            binaries.kube_controller_manager,
            kubeconfig=served.kubeconfig,
            controllers=CONTROLLERS,
            kube_api_content_type="application/vnd.kubernetes.protobuf",
            secure_port=0,
            leader_elect="false",
            service_account_private_key_file=tmp_path / "pki/sa.key",
        )
        manager = Process(arguments, tmp_path / "manager.log", group)
        kubectl = Kubectl(binaries.kubectl, served.kubeconfig, tmp_path)

        def names(resource: str) -> list[Any]:
            found = kubectl.take({"run": f"get {resource} -l app=web -o json"})
            return list(orjson.loads(found.output)["items"]) if not found.exit_code else []

        try:
            manager.start()
            kubectl.take({"run": "create deployment web --image nginx --replicas 3"})
            kubectl.take({"run": "expose deployment web --port 80"})
            wait_until(lambda: len(names("pods")) == 3, "three pods", 60)
            wait_until(lambda: len(names("endpointslices")) == 1, "an EndpointSlice", 60)
        finally:
            manager.stop()
            group.close()
        [deployment], [replicas] = names("deployments"), names("replicasets")

    assert deployment["status"]["replicas"] == 3
    assert replicas["spec"]["template"] == replicas["spec"]["template"] | {
        "spec": deployment["spec"]["template"]["spec"]
    }
