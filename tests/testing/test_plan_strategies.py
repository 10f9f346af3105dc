"""Plans and scenarios that Hypothesis draws: valid, and shrunk to what matters."""

from typing import Any

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis.stateful import run_state_machine_as_test

import myrmidon.testing
from myrmidon.testing.simulation.plan import Plan
from myrmidon.testing.simulation.plan_strategies import fault_plans, scenario_machine
from myrmidon.testing.simulation.result import SimulationError
from myrmidon.testing.simulation.simulating import simulate
from tests.cli.half_pair import Pairs
from tests.museum.e01_half_pair import HalfPair
from tests.museum.kit import creation
from tests.testing.simulation.things import Things

FEW = settings(
    max_examples=3, stateful_step_count=4, deadline=None, database=None, derandomize=True,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


@given(fault_plans(kinds=("Secret", "ConfigMap")))
@settings(max_examples=50, deadline=None)
def test_every_plan_has_a_json_form(plan: Plan) -> None:
    """And is read back as the same plan, so that it can be stored."""
    assert len(plan) <= 3
    assert Plan.from_json(plan.to_json()) == plan


def test_a_plan_shrinks_to_the_fault_that_matters() -> None:
    """From random plans to a crash after the first write, or the same moment before the second."""
    body = creation(HalfPair)

    def fails(plan: Plan) -> bool:
        return bool(simulate(body, plan=plan).failures)

    few = settings(max_examples=40, deadline=None, database=None, derandomize=True)
    found = find(fault_plans(writes=3), fails, settings=few)
    assert len(found) == 1
    assert found.faults[0].trigger.number <= 2


def test_a_machine_of_a_good_controller_passes() -> None:
    """Whatever users do, and whatever fails."""
    run_state_machine_as_test(scenario_machine(Things), settings=FEW)


def test_a_machine_runs_its_steps_at_the_end() -> None:
    """A bug is reported with its story."""
    machine: Any = scenario_machine(Pairs)()
    machine.put(name="first", spec={"size": 1})
    machine.pass_time(seconds=1)
    machine.put(name="first", spec={"size": 2})
    machine.fail(
        fault=Plan.from_json([{"when": {"on": "write"}, "do": "crash", "how": "after"}]).faults[0]
    )
    with pytest.raises(SimulationError, match="Secret default/first"):
        machine.teardown()
    machine.faults.clear()
    machine.delete(name="first")
    machine.delete(name="second")
    machine.teardown()


def test_they_are_public() -> None:
    """And loaded on first use, because they need hypothesis."""
    for name in ("fault_plans", "scenario_machine", "check_apply_laws", "ApplyLawError"):
        assert name in myrmidon.testing.__all__
        assert getattr(myrmidon.testing, name) is not None
