"""Bugs of the museum's classes that no exhibit shows are found, and their corrections are clean."""

import pytest

from myrmidon.testing.simulation.enumeration import depth_one
from myrmidon.testing.simulation.explorer import Budget, Explorer
from myrmidon.testing.simulation.references import References
from tests.testing.simulation.further_bugs import FURTHER_BUGS, FurtherBug

NAMES = [bug.buggy.__name__ for bug in FURTHER_BUGS]


@pytest.mark.parametrize("bug", FURTHER_BUGS, ids=NAMES)
def test_a_further_bug_is_found(bug: FurtherBug) -> None:
    """By an oracle that names it."""
    report = Explorer(bug.scenario(bug.buggy), Budget(swarm=50), 0, 1).explore(1, shrink=False)
    assert {one.oracle for one in report.failures} & bug.oracles


@pytest.mark.parametrize("bug", FURTHER_BUGS, ids=NAMES)
def test_its_correction_raises_no_alarm(bug: FurtherBug) -> None:
    """Under plans spread over all of depth one."""
    references = References(bug.scenario(bug.fixed))
    assert not references.failures
    plans = list(depth_one(references.facts))
    for plan in plans[:: max(len(plans) // 20, 1)]:
        result = references.run(plan)
        assert not result.failures, result.failures[0].story()
