"""Third-party clients run unchanged: kopf, kr8s, kubernetes-asyncio.

The programs in ``foreign/`` print what they see.  The expected output was recorded from
kube-apiserver v1.36.4.
"""

import os
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.clients.commands import Served, server
from tests.apiserver.conformance.scenarios import read_yaml
from tests.cluster.controlplane.client import Client

HERE = Path(__file__).parent / "foreign"
SECONDS_MAX = 60.0
KR8S = """\
version 1 36
whoami kubernetes-admin
kinds ['Deployment', 'Pod', 'Widget']
pod exists True Pending
labels {'fizz': 'buzz', 'foo': 'bar'} hello
by label ['my-pod']
by field ['my-pod']
data {'a': '9', 'b': '2'}
replicas 3
service ClusterIP True
widgets ['one', 'two']
events ['ADDED', 'MODIFIED', 'DELETED']
gone True
not found NotFoundError
conflict 409
done True
"""
KUBERNETES_ASYNCIO = """\
version v1.36.4
created a {'k': 'v'} True
replaced {'k': 'w'}
stale 409 Conflict
events [('MODIFIED', 'a'), ('MODIFIED', 'a'), ('DELETED', 'a')]
custom {'size': 2} 2
scale 4 app=web
missing 404
dynamic ['w']
applied 9
lease me
allowed True
"""


class Asker:
    """Sends requests from outside, with a plain HTTP client."""

    def __init__(self, served: Served) -> None:
        config = read_yaml(served.kubeconfig.read_text())
        authority = config["clusters"][0]["cluster"]["certificate-authority-data"]
        ca = served.kubeconfig.with_suffix(".crt")
        ca.write_bytes(b64decode(authority))
        self._client = Client(int(served.url.rpartition(":")[2]), ca, "admin-token")

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        """Send one request."""
        media = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return self._client.request(method, path, body, media).body

    def until(self, path: str, holds: Callable[[Any], bool]) -> Any:
        """Repeat the request until ``holds`` is true of the response."""
        ends_at = time.monotonic() + SECONDS_MAX
        while True:
            found = self("GET", path)
            if holds(found):
                return found
            assert time.monotonic() < ends_at, found
            time.sleep(0.1)  # noqa: TID251 - the operator runs in real time


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Run a server with a token, and the definitions that the programs expect."""
    folder = tmp_path_factory.mktemp("foreign")
    arguments = ("--token", "admin-token", "--manifests", str(HERE))
    with server(folder, "--tls", *arguments) as running:
        yield running


def environ(served: Served) -> dict[str, str]:
    """Return the environment in which clients find the server."""
    kept = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
    return kept | {"KUBECONFIG": str(served.kubeconfig), "HOME": str(served.kubeconfig.parent)}


@pytest.mark.parametrize(
    ("program", "wanted"), [("kr8s_script.py", KR8S), ("asyncio_script.py", KUBERNETES_ASYNCIO)]
)
def test_a_program_prints_what_it_prints_at_the_real_server(
    program: str, wanted: str, served: Served
) -> None:
    """Lists, watches, patches, scales, waits."""
    done = subprocess.run(
        [sys.executable, str(HERE / program)],
        env=environ(served),
        text=True,
        capture_output=True,
        timeout=SECONDS_MAX,
        check=False,
    )

    assert done.stdout == wanted, done.stderr


def test_an_operator_of_kopf_does_its_work(served: Served, tmp_path: Path) -> None:
    """Finalizers, children, status, timers, events: everything that kopf does to an object."""
    command = [sys.executable, "-m", "kopf", "run", "-n", "default", "--standalone"]
    log = tmp_path / "kopf.log"
    with log.open("w") as output:
        operator = subprocess.Popen(
            [*command, str(HERE / "kopf_operator.py")], env=environ(served), stderr=output
        )
    try:
        _drive(Asker(served), log)
    finally:
        operator.terminate()
        operator.communicate(timeout=SECONDS_MAX)
    assert operator.returncode == 0, log.read_text()
    assert "Traceback" not in log.read_text()


def _drive(asker: Asker, log: Path) -> None:
    claims = "/apis/kopf.dev/v1/namespaces/default/ephemeralvolumeclaims"
    volumes = "/api/v1/namespaces/default/persistentvolumeclaims"
    claim = {
        "apiVersion": "kopf.dev/v1",
        "kind": "EphemeralVolumeClaim",
        "metadata": {"name": "my-claim"},
        "spec": {"size": "1G"},
    }
    assert asker("POST", claims, claim)["metadata"]["name"] == "my-claim"
    made = asker.until(f"{claims}/my-claim", lambda found: "create_fn" in found.get("status", {}))
    assert made["status"]["create_fn"] == {"pvc-name": "my-claim"}
    assert made["metadata"]["finalizers"] == ["kopf.dev/example"]
    child = asker("GET", f"{volumes}/my-claim")
    assert child["spec"]["resources"]["requests"] == {"storage": "1G"}
    assert child["metadata"]["ownerReferences"][0]["name"] == "my-claim"
    asker(
        "PATCH", f"{claims}/my-claim", {"spec": {"size": "2G"}, "metadata": {"labels": {"a": "b"}}}
    )
    asker.until(
        f"{volumes}/my-claim",
        lambda found: found["metadata"].get("annotations", {}).get("size") == "2G",
    )
    asker.until(f"{claims}/my-claim", lambda found: found["status"].get("ticks") == 2)
    events = asker.until(
        "/api/v1/namespaces/default/events",
        lambda found: any("PVC child is created" in each["message"] for each in found["items"]),
    )
    assert "Created" in {each["reason"] for each in events["items"]}
    asker("DELETE", f"{claims}/my-claim")
    asker.until(f"{claims}/my-claim", lambda found: found.get("code") == 404)
    asker.until(f"{volumes}/my-claim", lambda found: found.get("code") == 404)
    _await_line(log, "PVC event DELETED")


def _await_line(log: Path, wanted: str) -> None:
    ends_at = time.monotonic() + SECONDS_MAX
    while wanted not in log.read_text():
        assert time.monotonic() < ends_at, log.read_text()
        time.sleep(0.1)  # noqa: TID251 - as above
