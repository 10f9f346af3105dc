"""``myrmidon run`` as a program, from its start to SIGTERM."""

import json
import shutil
import signal
import subprocess
import sys
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
