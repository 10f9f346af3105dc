"""``myrmidon server`` as a program."""

import asyncio
import base64
import json
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from myrmidon.apiserver.actors import cluster_actors, housekeepers
from myrmidon.apiserver.fronts.http import serve
from myrmidon.apiserver.server import ApiServer
from myrmidon.cli.commands import server
from myrmidon.cli.main import main
from myrmidon.errors import UsageError


@contextmanager
def running(*arguments: str) -> Iterator[str]:
    """Run a server as a command; yield its address."""
    command = [sys.executable, "-m", "myrmidon", "server", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            assert line.startswith("serving "), line
            yield line.split()[1]
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=10) == 0


def test_it_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    """Ctrl-C is the normal way to stop it, so the exit status is 0."""
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    (tmp_path / "a.json").write_text(json.dumps(manifest))
    with running("--anonymous", "--manifests", str(tmp_path)) as url:
        found = urllib.request.urlopen(f"{url}/api/v1/namespaces/default/configmaps/a")
        assert json.load(found)["metadata"]["name"] == "a"


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a"},
    "spec": {"containers": [{"name": "main", "image": "busybox"}]},
}


def test_stand_ins_run_pods_if_they_are_asked_for(tmp_path: Path) -> None:
    """With --actors a pod is reported as running, as in `myrmidon dev`; the watch waits for it."""
    (tmp_path / "pod.json").write_text(json.dumps(POD))
    with running("--anonymous", "--actors", "--manifests", str(tmp_path)) as url:
        watch = urllib.request.urlopen(
            f"{url}/api/v1/namespaces/default/pods?watch=true", timeout=30
        )
        phases = (json.loads(line)["object"].get("status", {}).get("phase") for line in watch)
        assert next(phase for phase in phases if phase != "Pending") == "Running"


def test_a_token_is_made_and_needed(tmp_path: Path) -> None:
    """Over plain HTTP the kubeconfig carries it in the address, as kubectl sends no header there."""
    path = tmp_path / "kubeconfig"
    with running("--kubeconfig-out", str(path)) as url:
        config = json.loads(path.read_text())
        server, token = (
            config["clusters"][0]["cluster"]["server"],
            config["users"][0]["user"]["token"],
        )
        assert server == f"{url}/token/{token}"
        assert urllib.request.urlopen(f"{server}/api/v1/namespaces").status == 200
        assert urllib.request.urlopen(f"{url}/healthz").status == 200
        for wrong in (url, f"{url}/token/{token}x", f"{url}/token"):
            with pytest.raises(urllib.error.HTTPError, match=r"40[134]"):
                urllib.request.urlopen(f"{wrong}/api/v1/namespaces")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:1", 200),
        ("localhost", 200),
        ("[::1]:80", 200),
        ("attacker.example:80", 403),
        ("127.0.0.1.attacker.example", 403),
    ],
)
def test_a_server_without_tokens_accepts_only_loopback_names(host: str, status: int) -> None:
    """A web page that points its own name at the loopback address is refused."""

    async def check() -> None:
        async with serve(ApiServer()) as url:
            reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rsplit(":")[-1]))
            writer.write(f"GET /api HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            line = await reader.readline()
            writer.close()
        assert line.split()[1] == str(status).encode()

    asyncio.run(check())


def test_a_kubeconfig_has_everything_that_a_client_needs(tmp_path: Path) -> None:
    """The address, the token and the certificate that was made for this run."""
    path = tmp_path / "kubeconfig"
    with running("--tls", "--token", "secret", "--kubeconfig-out", str(path)) as url:
        config = json.loads(path.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        assert (cluster["server"], user["token"]) == (url, "secret")
        authority = ssl.create_default_context(cadata=_pem(cluster["certificate-authority-data"]))
        request = urllib.request.Request(
            f"{url}/api/v1/namespaces", headers={"authorization": "Bearer secret"}
        )
        assert urllib.request.urlopen(request, context=authority).status == 200
    assert path.stat().st_mode & 0o077 == 0


def _pem(encoded: str) -> str:

    return base64.b64decode(encoded).decode()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--user", "nonsense"],
        ["--anonymous", "--token", "x"],
        ["--manifests", "/nowhere"],
        ["--host", "256.0.0.1"],
    ],
)
def test_wrong_arguments_are_reported_in_one_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a traceback."""
    assert main(["server", *arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") <= 2


@pytest.mark.parametrize("actors", [False, True])
def test_stand_ins_are_an_option(actors: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --actors the Deployment controller and the kubelets are played, without it they are not."""
    made: list[int] = []

    class Recorded(ApiServer):
        def __init__(self, **options: Any) -> None:
            made.append(len(list(options["actors"])))
            raise UsageError("far enough")

    monkeypatch.setattr(server, "ApiServer", Recorded)
    assert main(["server", *["--actors"] * actors]) == 2
    assert made == [len(list(cluster_actors() if actors else housekeepers()))]
