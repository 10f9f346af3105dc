"""Records what kubectl prints at a real server: ``python -m tests.cluster.record_kubectl``."""

import tempfile
from pathlib import Path

from tests.apiserver.clients.kubectl import Kubectl, all_kubectls, write_transcript
from tests.cluster.controlplane.binaries import find
from tests.cluster.controlplane.controlplane import CONTROLLERS, ControlPlane
from tests.cluster.record_start_objects import AGGREGATOR

# What ``myrmidon server`` does by itself, too.
HOUSEKEEPERS = (
    *CONTROLLERS,
    "serviceaccount-controller",
    AGGREGATOR,
    "resourcequota-controller",
    "persistentvolumeclaim-protection-controller",
    "persistentvolume-protection-controller",
)


def play(kubectl: Path) -> list[str]:
    """Return the transcript of a fresh server."""
    with (
        tempfile.TemporaryDirectory() as folder,
        ControlPlane(find(), controllers=HOUSEKEEPERS) as plane,
    ):
        return Kubectl(kubectl, plane.kubeconfig, Path(folder)).play()


if __name__ == "__main__":
    for each in all_kubectls():
        write_transcript(each, play(each))
