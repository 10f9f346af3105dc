"""Admission policies: the same answers and texts from the embedded server and the real one."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.admission.policy_cases import (
    LIMITS,
    MUTATING,
    VALIDATING,
    config_map,
    configuration,
    recorded_asks,
    rule,
)
from tests.cluster.admission_twins import AdmissionTwins, admission_twins
from tests.cluster.controlplane.controlplane import ControlPlane

ASKS = recorded_asks()
_SENTINEL: dict[str, Any] = {"sentinel": ({"validations": [rule("false")]}, {})}


@contextmanager
def policy_twins(plane: ControlPlane, folder: Path) -> Iterator[AdmissionTwins]:
    """Yield both servers with all policies, as soon as the real one uses them."""
    with admission_twins(plane, folder) as both:
        both.both(LIMITS)
        asks = [
            *configuration("Validating", VALIDATING),
            *configuration("Mutating", MUTATING),
            *configuration("Validating", _SENTINEL),
        ]
        for ask in asks:
            told = both.both(ask)
            messages = [each.answer.body.get("message") for each in told]
            assert [each.answer.status for each in told] == [201, 201], messages
        _await_sentinel(both)
        yield both
        for ask in asks:
            plane.client().delete(f"{ask.path}/{ask.body['metadata']['name']}")


def _await_sentinel(both: AdmissionTwins) -> None:
    ask = config_map("sentinel")._replace(query=(("dryRun", "All"),))
    for _ in range(300):
        if both.real(ask).answer.status == 422:
            time.sleep(1.5)  # noqa: TID251 - until the real server has read the parameters
            return
        time.sleep(0.1)  # noqa: TID251 - a real server
    raise AssertionError(f"the real server does not use the policies: {both.real(ask).answer}")


@pytest.fixture(scope="module")
def twins(
    controlplane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AdmissionTwins]:
    """Both servers with all policies."""
    with policy_twins(controlplane, tmp_path_factory.mktemp("policies")) as both:
        yield both


def test_the_answers_are_the_same(twins: AdmissionTwins) -> None:
    """Writes that policies allow, refuse, warn about and change; policies that are refused."""
    found = [
        f"{title}: {difference}"
        for title, ask in ASKS.items()
        for difference in twins.differences(ask)
    ]
    assert not found, "\n".join(found)
