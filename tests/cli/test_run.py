"""``myrmidon run`` as a program, from its start to SIGTERM."""

import json
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from tests.cli.test_server import running

EXAMPLE = Path("examples/config_copy")


def test_it_reconciles_until_it_is_told_to_stop(tmp_path: Path) -> None:
    """The controller of a folder writes its children; SIGTERM ends it with status 0."""
    manifests, kubeconfig = tmp_path / "manifests", tmp_path / "kubeconfig"
    manifests.mkdir()
    shutil.copy(EXAMPLE / "crd.yaml", manifests / "1.yaml")
    shutil.copy(EXAMPLE / "sample.yaml", manifests / "2.yaml")
    command = [sys.executable, "-m", "myrmidon", "run", str(EXAMPLE)]
    command += ["--kubeconfig", str(kubeconfig), "--metrics-addr=", "--health-addr="]

    with running("--kubeconfig-out", str(kubeconfig), "--manifests", str(manifests)):
        server = json.loads(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        watch = f"{server}/api/v1/namespaces/team-a/configmaps?watch=true"
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as program:
            with urllib.request.urlopen(watch, timeout=60) as events:
                event = json.loads(events.readline())
            program.send_signal(signal.SIGTERM)
            _, log = program.communicate(timeout=30)

    assert event["object"]["data"] == {"log-level": "info", "region": "north"}
    assert program.returncode == 0, log


def test_the_live_page_needs_its_token_and_changes_nothing(tmp_path: Path) -> None:
    """``--ui`` logs an address of this machine; without ``--ui-write`` no action is taken."""
    manifests, kubeconfig = tmp_path / "manifests", tmp_path / "kubeconfig"
    manifests.mkdir()
    shutil.copy(EXAMPLE / "crd.yaml", manifests / "1.yaml")
    command = [sys.executable, "-m", "myrmidon", "run", str(EXAMPLE), "--ui=:0", "--ui-token=xyzzy"]
    command += ["--kubeconfig", str(kubeconfig), "--metrics-addr=", "--health-addr="]

    with (
        running("--kubeconfig-out", str(kubeconfig), "--manifests", str(manifests)),
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as program,
    ):
        assert program.stderr is not None
        line = next(line for line in program.stderr if "live page" in line)
        url = line.partition("url=")[2].split()[0]
        answers = [
            _status(url, {}),
            _status(url, {"Authorization": "Bearer xyzzy"}),
            _status(f"{url}act/delete/config-copy/a/b", {"Authorization": "Bearer xyzzy"}, b""),
        ]
        program.send_signal(signal.SIGTERM)
        program.communicate(timeout=30)

    assert "xyzzy" not in line
    assert url.startswith("http://127.0.0.1:")
    assert answers == [401, 200, 403]
    assert program.returncode == 0


def _status(url: str, headers: dict[str, str], data: bytes | None = None) -> int:
    request = urllib.request.Request(url, data, headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
