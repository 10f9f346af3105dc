"""``myrmidon server`` as a program."""

import base64
import json
import signal
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from myrmidon.cli.main import main


@contextmanager
def running(*arguments: str) -> Iterator[str]:
    """The address of a server that runs as a command."""
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
    """Ctrl-C is how it ends, so that is no failure."""
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    (tmp_path / "a.json").write_text(json.dumps(manifest))
    with running("--manifests", str(tmp_path)) as url:
        found = urllib.request.urlopen(f"{url}/api/v1/namespaces/default/configmaps/a")
        assert json.load(found)["metadata"]["name"] == "a"


def test_a_kubeconfig_has_all_that_a_client_needs(tmp_path: Path) -> None:
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
    "arguments", [["--user", "nonsense"], ["--manifests", "/nowhere"], ["--host", "256.0.0.1"]]
)
def test_wrong_arguments_are_told_in_one_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a traceback."""
    assert main(["server", *arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") == 1
