"""Every test of an example runs twice: on the embedded server, and on a real one.

The second run has the mark `cluster`, so that only `make test-cluster` selects it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.controlplane.binaries import UnavailableError, find
from tests.cluster.controlplane.controlplane import CONTROLLERS, ControlPlane


@pytest.fixture(scope="session")
def controlplane() -> Iterator[ControlPlane]:
    """A real control plane; without its binaries these tests are skipped."""
    try:
        binaries = find()
    except UnavailableError as error:
        pytest.skip(str(error))
    with ControlPlane(binaries, controllers=CONTROLLERS) as plane:
        yield plane


@pytest.fixture(params=["embedded", pytest.param("cluster", marks=pytest.mark.cluster)])
def myrmidon_kubeconfig(request: pytest.FixtureRequest) -> Path | None:
    """Where the test runs: None is the embedded server."""
    if request.param == "embedded":
        return None
    plane: ControlPlane = request.getfixturevalue("controlplane")
    return plane.kubeconfig
