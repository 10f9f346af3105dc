"""An exploration with a filter of faults and an observer of its runs."""

from myrmidon.testing.simulation import SimulationResult
from myrmidon.testing.simulation.explorer import Budget, Explorer
from myrmidon.testing.simulation.scenarios import as_scenario
from tests.testing.simulation.things import growth


def test_only_faults_that_are_kept_are_tried_and_every_run_is_observed() -> None:
    """Enumerated plans have only such faults; random ones lose the others; all are seen in order."""
    seen: list[SimulationResult] = []
    explorer = Explorer(
        as_scenario(growth), Budget(swarm=20), 0, 5,
        keeps=lambda fault: fault.action.kind == "lost", observe=seen.append,
    )  # fmt: skip
    report = explorer.explore(1, shrink=False).check()
    assert {fault.action.kind for result in seen for fault in result.plan} == {"lost"}
    assert all(result.plan.faults for result in seen)
    assert report.runs == len(seen) + explorer.references.runs


def test_a_fault_that_is_never_drawn_ends_the_random_plans() -> None:
    """Without a limit an exploration by time would draw plans for ever."""
    explorer = Explorer(
        as_scenario(growth), Budget(), 0, 5, keeps=lambda fault: fault.action.kind == "crd"
    )
    explorer.explore(1, shrink=False).check()
    assert explorer.report.fired
