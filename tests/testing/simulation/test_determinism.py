"""The same seed gives the same trace, in every process and for every hash seed of strings.

``python -m tests.testing.simulation.determinism --seeds 10000`` compares many more.
"""

from myrmidon.testing.simulation import Plan, simulate
from tests.testing.simulation.determinism import compared, hashes
from tests.testing.simulation.fault_classes import CLASSES

SEEDS = 24


def test_random_plans_have_equal_traces_in_two_processes() -> None:
    """Each process has another PYTHONHASHSEED."""
    assert compared(0, SEEDS) == []


def test_random_plans_have_equal_traces_twice_in_one_process() -> None:
    """What an earlier run left in caches does not matter."""
    assert list(hashes(range(8))) == list(hashes(range(8)))


def test_every_kind_of_fault_is_deterministic() -> None:
    """One plan of each class of faults, run twice, with another run in between."""
    for cases in CLASSES.values():
        case = cases[-1]
        first = simulate(case.scenario, plan=case.plan).trace_hash
        simulate(case.scenario, plan=Plan())
        assert simulate(case.scenario, plan=case.plan).trace_hash == first
