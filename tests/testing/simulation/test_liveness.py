"""Liveness: the end is reached in time, also while a part stays broken; bounds under fairness."""

import asyncio
from typing import Any

import pytest

from myrmidon.api import Json
from myrmidon.testing.simulation import Plan, Scenario, explore, simulate
from myrmidon.testing.simulation import actions as a
from myrmidon.testing.simulation import triggers as t
from myrmidon.testing.simulation.fairness import FairTime
from myrmidon.testing.simulation.outages import affected
from tests.museum.kit import CONFIG_MAP, SECRET, Reconciler, thing
from tests.testing.simulation.things import Things
from tests.testing.simulation.things import thing as small


class OneByOne(Reconciler):
    """Tries an object until it succeeds, and only then looks at the next: one blocks all others."""

    children = (SECRET,)

    async def reconcile(self, obj: Json) -> None:
        """Keep a Secret and a phase."""
        while True:
            try:
                await self.ensure(SECRET, self.child(obj, SECRET, obj["metadata"]["name"]))
                await self.finish(obj)
            except Exception:
                await asyncio.sleep(5)  # noqa: TID251 - virtual time
                if await self.gives_up():
                    raise
            else:
                return

    async def gives_up(self) -> bool:
        """Return False."""
        return False

    async def finish(self, obj: Json) -> None:
        """Set the phase."""
        await self.set_status(obj, phase="Ready")


class EachByItself(OneByOne):
    """Lets the queue try an object again."""

    async def gives_up(self) -> bool:
        """Return True."""
        return True


def two(make: Any) -> Scenario:
    """Return a scenario with two Things."""

    async def both(sim: Any) -> None:
        sim.controller(make)
        for name in ("a", "b"):
            await sim.user.create(thing(name))
        await sim.settle()

    return Scenario(both)


def test_an_object_that_blocks_all_others_is_found() -> None:
    """Only a part that stays broken shows it: afterwards everything converges."""
    plan = Plan.of((t.write(1), a.outage("object", "Thing/a")))
    broken = simulate(two(OneByOne), plan=plan)
    assert ("O1", "Thing default/b") in {one.signature for one in broken.failures}
    assert "keeps it from its end" in str(broken.failures[0])
    assert simulate(two(EachByItself), plan=plan).check().all_fired


def test_an_exploration_finds_it_and_the_correct_one_is_clean() -> None:
    """Outages are part of an exploration of several objects."""
    found = explore(two(OneByOne), budget="ci", shrink=False, stop_at=1)
    assert found.failures
    explore(two(EachByItself), budget="ci", shard=(1, 9)).check()


def test_what_an_outage_concerns() -> None:
    """The broken object, its children and their owners; nothing else."""
    owners: dict[str, list[str]] = {
        "Thing default/a": [], "Secret default/a": ["Thing default/a"],
        "Thing default/b": [], "Secret default/b": ["Thing default/b"],
    }  # fmt: skip

    def of(how: str, target: str) -> frozenset[str]:
        return affected(Plan.of((t.write(1), a.outage(how, target))), owners)

    assert of("object", "Thing/a") == {"Thing default/a", "Secret default/a"}
    assert of("kind", "Secret") == {*owners}
    assert of("replica", "") == set()


class Late(Reconciler):
    """Looks at its objects once an hour after an error."""

    children = (CONFIG_MAP,)
    seconds = 2000.0

    async def reconcile(self, obj: Json) -> None:
        """Keep a ConfigMap."""
        try:
            await self.ensure(CONFIG_MAP, self.child(obj, CONFIG_MAP, "a", data={}))
        except Exception:  # noqa: BLE001 - the bug
            await self.clock.sleep(self.seconds)
            self.enqueue("a")

    def due_at(self, loop: Any) -> float | None:
        """Return when a pass that waits goes on."""
        return None if self.cached(CONFIG_MAP, "a") else loop.next_timer()


class Soon(Late):
    """Looks again soon."""

    seconds = 5.0


@pytest.mark.parametrize(("make", "failed"), [(Late, True), (Soon, False)])
def test_the_end_must_be_reached_in_time(make: Any, failed: bool) -> None:
    """After all faults are over; the bound is the scenario's."""

    async def created(sim: Any) -> None:
        sim.controller(make)
        sim.recovers_within(600)
        await sim.user.create(thing())
        await sim.advance(1)

    plan = Plan.of((t.write(1), a.reply(503)))
    result = simulate(Scenario(created), plan=plan)
    assert bool(result.failures) is failed


def test_fair_time_leaves_out_what_faults_take() -> None:
    """Intervals may overlap; a fault without an end lasts until all are healed."""
    fair = FairTime()
    fair.disturb(a.crash(down=25.0), 10.0)  # until 40
    fair.disturb(a.pause(15.0), 30.0)  # until 50
    assert fair.seconds(0.0, 5.0) == 5.0
    assert fair.seconds(0.0, 45.0) == 10.0
    assert fair.seconds(20.0, 60.0) == 10.0
    fair.disturb(a.outage("replica"), 60.0)
    assert fair.seconds(0.0, 1000.0) == 20.0
    fair.heal(100.0)
    assert fair.seconds(0.0, 1000.0) == 920.0


@pytest.mark.parametrize("fair", [True, False])
def test_leads_to_under_fairness_holds_during_a_long_crash(fair: bool) -> None:
    """The process is down for longer than the bound; that time does not count."""

    async def led(sim: Any) -> None:
        sim.controller(Things)
        sim.leads_to(
            "a Thing gets its Secret",
            lambda world: world.exists("Thing", "a"),
            lambda world: world.exists("Secret", "a"),
            within=30,
            fair=fair,
        )
        await sim.user.create(small())
        await sim.settle()

    result = simulate(led, plan=Plan.of((t.write(2), a.crash(down=300.0))))
    assert [one.oracle for one in result.failures] == ([] if fair else ["O10"])
