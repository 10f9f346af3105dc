"""Run every test of an example twice: on the embedded server, and on a real one.

The second run has the pytest mark `cluster`, which only `make test-cluster` selects.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_kubeconfig() -> Iterator[Path]:
    """Return the kubeconfig of a real control plane; skip the test if it is not installed."""
    # Imported here, because it needs more packages than the examples do.
    from tests.cluster.controlplane.binaries import UnavailableError, find  # noqa: PLC0415
    from tests.cluster.controlplane.controlplane import CONTROLLERS, ControlPlane  # noqa: PLC0415

    try:
        binaries = find()
    except UnavailableError as error:
        pytest.skip(str(error))
    with ControlPlane(binaries, controllers=CONTROLLERS) as plane:
        yield plane.kubeconfig


@pytest.fixture(params=["embedded", pytest.param("cluster", marks=pytest.mark.cluster)])
def myrmidon_kubeconfig(request: pytest.FixtureRequest) -> Path | None:
    """Return the kubeconfig of the server to test on; None for the embedded server."""
    if request.param == "embedded":
        return None
    kubeconfig: Path = request.getfixturevalue("real_kubeconfig")
    return kubeconfig


@pytest.fixture
def myrmidon_kubelet() -> bool:
    """Let the test kit act as the kubelet: the control plane of the tests has no nodes."""
    return True
