"""What is generated from the examples, as an administrator applies it: with `kubectl apply -k`."""

import subprocess
from pathlib import Path

import pytest
import yaml

from myrmidon.cli.main import main
from tests.cluster.controlplane.controlplane import ControlPlane

EXAMPLES = sorted(path.parent for path in Path("examples").glob("*/controller.py"))


@pytest.mark.parametrize("folder", EXAMPLES, ids=str)
def test_the_server_accepts_the_kustomization(
    controlplane: ControlPlane, namespace: str, tmp_path: Path, folder: Path
) -> None:
    """In a namespace that exists, because a dry run creates none."""
    command = ["generate", "all", str(folder), "-o", str(tmp_path), "--namespace", namespace]
    assert main(command) == 0

    kubectl = [str(controlplane.binaries.kubectl), f"--kubeconfig={controlplane.kubeconfig}"]
    applied = subprocess.run(
        [*kubectl, "apply", "--dry-run=server", "-k", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert applied.returncode == 0, applied.stderr
    done = [line for line in applied.stdout.splitlines() if line.endswith("(server dry run)")]
    listed = yaml.safe_load((tmp_path / "kustomization.yaml").read_text())["resources"]
    manifests = [
        one for each in listed for one in yaml.safe_load_all((tmp_path / each).read_text())
    ]
    assert len(done) == len(manifests), applied.stdout
