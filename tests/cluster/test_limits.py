"""ResourceQuotas and LimitRanges: a real control plane with the quota controller answers as recorded."""

from collections.abc import Iterator

import pytest

from tests.apiserver.admission.limit_scenarios import SCENARIOS
from tests.apiserver.admission.test_limits import played
from tests.cluster.controlplane.binaries import UnavailableError, find
from tests.cluster.controlplane.controlplane import CONTROLLERS, ControlPlane
from tests.cluster.record_limits import QUOTA_CONTROLLER, record


@pytest.fixture(scope="module")
def counting() -> Iterator[ControlPlane]:
    """A control plane whose quotas are counted."""
    try:
        binaries = find()
    except UnavailableError as error:
        pytest.skip(str(error))
    with ControlPlane(binaries, controllers=(*CONTROLLERS, QUOTA_CONTROLLER)) as plane:
        yield plane


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario(counting: ControlPlane, scenario: str) -> None:
    """Both answer each step alike, and the quotas count as much."""
    theirs, ours = record(counting, scenario), played(scenario)
    for step, one, other in zip(SCENARIOS[scenario], ours, theirs, strict=True):
        assert one == other, step
