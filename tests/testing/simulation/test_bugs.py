"""Explorations report the first failure with its story; more bugs are in tests/museum."""

import pytest

from myrmidon.testing.simulation.explorer import SimulationReport, explore
from tests.museum.e01_half_pair import BothSecrets, HalfPair
from tests.museum.e10_random_names import NumberedNames
from tests.museum.kit import Thing as Gadget
from tests.museum.kit import creation, thing

__all__ = ["BothSecrets", "Gadget", "HalfPair", "NumberedNames", "creation", "gadget", "oracles"]


def gadget(size: int = 1) -> Gadget:
    """Build a Thing of a size."""
    return thing(size=size)


def oracles(report: SimulationReport) -> set[str]:
    """Return the oracles that fired."""
    return {failure.oracle for failure in report.failures}


def test_a_failure_comes_with_the_shortest_plan_and_its_story() -> None:
    """A crash between two creates leaves one Secret for ever; the story names both."""
    report = explore(creation(HalfPair), budget="ci", stop_at=1)
    failure = next(one for one in report.failures if one.oracle == "O1")
    assert failure.role == "Secret default/ssl-internal"
    assert failure.result is not None
    assert len(failure.result.plan) == 1
    story = failure.story()
    assert "FAULT" in story
    assert "is missing" in story


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_exploration_finds_the_same_in_one_and_in_two_processes(jobs: int) -> None:
    """The order of the plans decides, not the order of the workers."""
    report = explore(creation(HalfPair), budget="ci", jobs=jobs, stop_at=1)
    assert [failure.signature for failure in report.failures] == [
        ("O1", "Secret default/ssl-internal"),
        ("O4", "create Secret default/ssl-internal"),
    ]
