"""Every test of an example runs twice: on the embedded server, and on a real one.

The second run has the mark `cluster`, so that only `make test-cluster` selects it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_kubeconfig() -> Iterator[Path]:
    """The way into a real control plane; without its binaries these tests are skipped."""
    # Here and not above: it needs more packages than the examples do.
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
    """Where the test runs: None is the embedded server."""
    if request.param == "embedded":
        return None
    kubeconfig: Path = request.getfixturevalue("real_kubeconfig")
    return kubeconfig


@pytest.fixture
def myrmidon_kubelet() -> bool:
    """The control plane of the tests has no machines: the kit plays kubelet."""
    return True
