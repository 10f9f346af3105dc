"""The pytest fixture of a real API server, for every folder of tests that needs one."""

from collections.abc import Iterator

import pytest

from tests.cluster.controlplane.binaries import UnavailableError, find
from tests.cluster.controlplane.controlplane import CONTROLLERS, ControlPlane


@pytest.fixture(scope="session")
def controlplane() -> Iterator[ControlPlane]:
    """One control plane with an audit log for the whole run; without binaries its tests are skipped."""
    try:
        binaries = find()
    except UnavailableError as error:
        pytest.skip(str(error))
    with ControlPlane(binaries, controllers=CONTROLLERS, audit=True) as plane:
        yield plane
