"""Scenarios from samples: which steps they have, and which changes are left out."""

from datetime import timedelta
from itertools import count

from myrmidon import Controller, Done, OutputSet, Result, Wait, kinds, state
from myrmidon.testing.campaigns.generated_scenario import (
    GeneratedSteps,
    generated_steps,
    scenario_of,
)
from tests.testing.simulation.things import Thing, Things, child

TICKS = count()


class Restless(Controller[Thing]):
    """Never comes to rest if the size is 2."""

    manages = (kinds.CONFIG_MAP,)

    @state(initial=True)
    def configured(self, thing: Thing, out: OutputSet) -> Result:
        """The data differs in each pass, and there is a pass each minute."""
        is_restless = thing.spec.size == 2
        tick = next(TICKS) if is_restless else 0
        out.apply(child("ConfigMap", thing.name, data={"tick": str(tick)}))
        minute = timedelta(minutes=1)
        return Wait("Ticking", after=minute, keep_outputs=True) if is_restless else Done()


def test_a_change_after_which_the_controllers_do_not_settle_is_replaced() -> None:
    """By the next candidate of the same field; the scenario then settles."""
    assert [edits for _, edits in generated_steps([Things], []).objects] == [[{"size": 2}]]
    steps = generated_steps([Restless], [])
    assert [edits for _, edits in steps.objects] == [[{"size": 0}]]
    assert steps.unchanged == []


def test_other_objects_exist_from_the_start() -> None:
    """With the namespaces that the samples need; the steps have a JSON form."""
    samples = [
        child("Secret", "given") | {"metadata": {"name": "given", "namespace": "far"}},
        {"apiVersion": "sim.myrmidon.dev/v1", "kind": "Thing", "metadata": {"name": "b"}},
    ]
    steps = generated_steps([Things], samples, replicas=2)
    assert [one["kind"] for one in steps.given] == ["Namespace", "Secret"]
    assert GeneratedSteps.from_json(steps.to_json()) == steps
    assert str(steps) == "create Thing b, 1 edit"
    steps.deletes = True
    result = scenario_of([Things], steps).run().check()
    assert "Thing default/b" not in result.end
    assert "Secret far/given" in result.end
