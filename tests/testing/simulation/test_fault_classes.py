"""Every class of faults can be injected, has an effect, and a correct controller survives it."""

from typing import Any

import pytest

from myrmidon.testing.simulation import Plan, Scenario, explore, simulate
from myrmidon.testing.simulation import actions as a
from myrmidon.testing.simulation import triggers as t
from myrmidon.testing.simulation.actions import KINDS
from myrmidon.testing.simulation.references import References
from tests.testing.simulation.fault_classes import CLASSES, FaultCase, pair, several
from tests.testing.simulation.things import growth

CASES = [
    pytest.param(case, id=f"{name} {number}")
    for name, cases in CLASSES.items()
    for number, case in enumerate(cases, 1)
]


def test_all_36_classes_are_in_the_table() -> None:
    """Each class has at least one plan, and each kind of action is used by a class."""
    assert [name.partition(" ")[0] for name in CLASSES] == [f"F{n:02}" for n in range(1, 37)]
    used = {
        fault.action.kind for cases in CLASSES.values() for case in cases for fault in case.plan
    }
    assert used == {*KINDS}


@pytest.mark.parametrize("case", CASES)
def test_a_class_of_faults_fires_and_the_controller_survives(case: FaultCase) -> None:
    """The fault has an effect, and no oracle raises an alarm: the controller is correct."""
    result = simulate(case.scenario, plan=case.plan).check()
    assert result.fired == (True,) * len(case.plan)
    assert result.finished


@pytest.mark.parametrize("case", CASES[::7])
def test_each_plan_survives_a_round_trip_through_json(case: FaultCase) -> None:
    """A stored plan is the same plan, and gives the same run."""
    assert Plan.from_json(case.plan.to_json()) == case.plan
    again = simulate(case.scenario, plan=Plan.from_json(case.plan.to_json()))
    assert again.trace_hash == simulate(case.scenario, plan=case.plan).trace_hash


def test_a_stop_is_orderly_and_releases_the_lease() -> None:
    """The other replica takes over at once, long before the lease would have expired."""
    result = simulate(pair, plan=Plan.of((t.write(3), a.stop(60.0)))).check()
    stopped = [one.at for one in result.trace.entries if getattr(one, "what", "") == "stopped"]
    taken = [
        one.at for one in result.trace.exchanges()
        if one.subject.kind == "Lease" and one.subject.is_write and one.process == 1
    ]  # fmt: skip
    assert min(at for at in taken if at >= stopped[0]) - stopped[0] < 10.0


def test_a_gap_is_seen_as_one_list() -> None:
    """No event of the gap arrives: the client lists again, and sees the last state alone."""
    result = simulate(growth, plan=Plan.of((t.event("Thing", 3), a.gap("Thing", 30.0)))).check()
    lists = [one for one in result.trace.exchanges() if one.subject.verb in ("list", "watch")]
    late = [one for one in lists if one.at > 0 and one.subject.kind == "Thing"]
    assert late


def test_a_kind_that_is_not_served_is_not_remembered_under_a_wrong_name() -> None:
    """Requests to an absent definition are described anew once it is served again."""
    plan = Plan.of((t.end(), a.crd("drop", "Thing")))
    first = simulate(growth, plan=plan).check()
    assert simulate(growth, plan=plan).trace_hash == first.trace_hash
    assert simulate(growth).check().facts == simulate(growth).check().facts


async def three(sim: Any) -> None:
    """Three Things and three replicas."""
    await several(Wider(sim))


class Wider:
    """A simulation whose controllers have three replicas."""

    def __init__(self, sim: Any) -> None:
        self._sim = sim

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sim, name)

    def controller(self, *makes: Any) -> None:
        """Run the controllers in three replicas."""
        self._sim.controller(*makes, replicas=3)


@pytest.mark.parametrize("scenario", [growth, several, pair, three])
def test_the_new_plans_of_an_exploration_raise_no_false_alarm(scenario: Any) -> None:
    """A sample of all plans of depth one, in scenarios of one and several objects and replicas."""
    explore(Scenario(scenario), budget="ci", shard=(2, 23)).check()


def test_references_know_the_owners_of_objects() -> None:
    """For outages: what belongs to a broken object may differ."""
    owners = References(Scenario(growth)).facts.owners
    assert owners["ConfigMap default/a"] == ["Thing default/a"]
