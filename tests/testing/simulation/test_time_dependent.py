"""Controllers whose work depends on the time: all runs of a scenario are compared at the same time.

A fault takes time, so a run with a fault ends later than its reference.  A controller that removes an object
after ten minutes may have done so in one of them and not yet in the other, although it is correct.  Each
controller here has a twin with a bug that depends on a fault: the twin must be found, and the correct one must
raise no alarm.
"""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from examples.cron_job.controller import ScheduledJobs
from myrmidon import Context, Controller, Done, OutputSet, Result, kinds, state
from myrmidon.api import Json
from myrmidon.api.values.timestamps import read_time
from myrmidon.testing import Plan, Scenario, Simulation, explore, scenario
from myrmidon.testing.simulation import actions as a
from myrmidon.testing.simulation import triggers as t
from myrmidon.testing.simulation.references import References
from tests.museum.kit import CONFIG_MAP, Reconciler
from tests.museum.kit import thing as museum_thing
from tests.testing.simulation.things import Thing, child, thing

TTL = timedelta(minutes=10)
SLOT_SECONDS = 300


class Expiring(Controller[Thing]):
    """Keeps a ConfigMap for the first ten minutes of a Thing."""

    manages = (kinds.CONFIG_MAP,)

    @state(initial=True, condition="Kept")
    def kept(self, thing: Thing, out: OutputSet, ctx: Context) -> Result:
        """There is a ConfigMap, and after ten minutes there is none."""
        ends_at = self.ends_at(thing, ctx)
        if ends_at is not None and ctx.now >= ends_at:
            out.delete(kinds.CONFIG_MAP, thing.name)
            return Done()
        out.apply(child("ConfigMap", thing.name, data={"size": str(thing.spec.size)}))
        return Done() if ends_at is None else Done(again=ends_at)

    def ends_at(self, thing: Thing, ctx: Context) -> Any:
        """Return when the ten minutes are over, by the object."""
        return (thing.creation_timestamp or ctx.now) + TTL


class ExpiringFromMemory(Expiring):
    """Knows only from its own memory when the ten minutes are over: a new process never does."""

    def __init__(self) -> None:
        self._ends: dict[str, Any] = {}

    def ends_at(self, thing: Thing, ctx: Context) -> Any:
        """Return when the ten minutes are over, if this process has seen the object when it was new."""
        if thing.status.observed_generation is None:
            self._ends.setdefault(thing.uid, ctx.now + TTL)
        return self._ends.get(thing.uid)


class Rotating(Controller[Thing]):
    """Writes the number of the current five minutes into a ConfigMap."""

    manages = (kinds.CONFIG_MAP,)

    @state(initial=True, condition="Rotated")
    def rotated(self, thing: Thing, out: OutputSet, ctx: Context) -> Result:
        """The ConfigMap has the current number."""
        data = {"slot": str(self.slot(ctx)), "size": str(thing.spec.size)}
        out.apply(child("ConfigMap", thing.name, data=data))
        left = SLOT_SECONDS - ctx.now.timestamp() % SLOT_SECONDS
        return Done(again=timedelta(seconds=left))

    def slot(self, ctx: Context) -> int:
        """Return the number of the current five minutes."""
        return int(ctx.now.timestamp()) // SLOT_SECONDS


class RotatingFromMemory(Rotating):
    """Counts the five minutes since the process has started."""

    def __init__(self) -> None:
        self._seen: dict[int, None] = {}

    def slot(self, ctx: Context) -> int:
        """Return how many numbers this process has seen."""
        self._seen[super().slot(ctx)] = None
        return len(self._seen)


class PlainExpiring(Reconciler):
    """A program of another style that keeps a ConfigMap for the first ten minutes of a Thing."""

    children = (CONFIG_MAP,)

    async def reconcile(self, obj: Json) -> None:
        """Create the ConfigMap; remove it after ten minutes."""
        name = obj["metadata"]["name"]
        left = read_time(obj["metadata"]["creationTimestamp"]) + TTL - self.clock.now()
        if left <= timedelta(0):
            await self.delete(CONFIG_MAP, name)
            return
        await self.ensure(CONFIG_MAP, self.child(obj, CONFIG_MAP, name, data={"kept": "yes"}))
        self.wake(name, left.total_seconds())

    def wake(self, name: str, seconds: float) -> None:
        """Reconcile an object again after a time."""
        later = self._later(name, seconds)
        self._waking = asyncio.get_running_loop().create_task(later)


class PlainForgetful(PlainExpiring):
    """Plans the removal only when it has created the ConfigMap itself."""

    def wake(self, name: str, seconds: float) -> None:
        """Reconcile an object again after a time, if its ConfigMap is not in the cache yet."""
        if self.cached(CONFIG_MAP, name) is None:
            super().wake(name, seconds)


def plain(make: Any) -> Scenario:
    """Return a scenario of a plain program: a Thing is created, and time is not mentioned."""

    async def created(sim: Simulation) -> None:
        sim.controller(make)
        await sim.user.create(museum_thing())
        await sim.settle()

    return Scenario(created)


def grown(make: Any) -> Scenario:
    """Return a scenario in which a Thing is created and changed, and time is not mentioned."""

    async def grows(sim: Simulation) -> None:
        sim.controller(make)
        made = await sim.user.create(thing())
        await sim.settle()
        await sim.user.patch(made, size=2)
        await sim.settle()

    return Scenario(grows)


def advanced(make: Any) -> Scenario:
    """Return a scenario that ends a few seconds before the ten minutes are over."""

    async def waits(sim: Simulation) -> None:
        sim.controller(make)
        made = await sim.user.create(thing())
        await sim.settle()
        await sim.advance(TTL.total_seconds() - 3)
        await sim.user.patch(made, size=2)
        await sim.settle()

    return Scenario(waits)


@scenario
async def cron(sim: Simulation) -> None:
    """A job runs every five minutes, and the scenario ends without a deletion."""
    sim.controller(ScheduledJobs)
    container = {"name": "report", "image": "report:1"}
    pod: Any = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    spec = {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": pod}}}
    meta = {"name": "report"}
    await sim.user.create(
        {
            "apiVersion": "demo.myrmidon.dev/v1",
            "kind": "ScheduledJob",
            "metadata": meta,
            "spec": {**spec, "startingDeadlineSeconds": 60},
        }
    )
    await sim.settle()
    await sim.advance(290)


@pytest.mark.parametrize("make", [Expiring, Rotating])
@pytest.mark.parametrize("shape", [grown, advanced])
def test_a_correct_time_dependent_controller_raises_no_alarm(make: Any, shape: Any) -> None:
    """O1, O3 and O4 compare runs at the same virtual time, and what was planned has happened."""
    explore(shape(make), budget="ci", shard=(1, 80)).check()


@pytest.mark.parametrize(
    "plan",
    [
        Plan.of((t.write(2), a.watch("stall"))),
        Plan.of((t.write(1), a.refuse(401, lasts=60.0))),
        Plan.of((t.write(1), a.slow(45.0, lasts=100.0))),
        Plan.of((t.write(1), a.crash("after", down=240.0))),
        Plan.of((t.write(1), a.outage("kind", "ConfigMap"))),
    ],
    ids=str,
)
@pytest.mark.parametrize("make", [Expiring, Rotating])
def test_a_fault_that_takes_minutes_is_not_taken_for_another_end(make: Any, plan: Plan) -> None:
    """The scenario ends three seconds before the time at which the controller acts."""
    assert not References(advanced(make)).run(plan).failures


@pytest.mark.parametrize("make", [ExpiringFromMemory, RotatingFromMemory])
def test_a_time_that_is_only_in_memory_is_found(make: Any) -> None:
    """After a crash the object never expires: seen only if the time is played out."""
    found = explore(grown(make), budget="ci", shrink=False, stop_at=1)
    assert {one.oracle for one in found.failures} == {"O1"}
    assert "crash" in str(found.failures[0].result.plan)  # type: ignore[union-attr]


def test_plain_programs_are_compared_at_the_same_time() -> None:
    """Their plans cannot be seen, so a reference tells whether time changes their objects."""
    plans = [
        Plan.of((t.write(1), a.crash("after"))),
        Plan.of((t.write(1), a.slow(45.0, lasts=100.0))),
        Plan.of((t.event("Thing", 1), a.watch("stall"))),
    ]
    correct, forgetful = References(plain(PlainExpiring)), References(plain(PlainForgetful))
    assert not any(correct.run(plan).failures for plan in plans)
    assert "O1" in {one.oracle for one in forgetful.run(plans[0]).failures}


def test_a_schedule_that_goes_on_for_ever_raises_no_alarm() -> None:
    """A cron job misses a start in some runs; later runs have the same history again."""
    references = References(cron)
    assert not references.failures
    for action in (a.lost(), a.crash("after", down=240.0)):
        result = references.run(Plan.of((t.write(1), action)))
        assert result.check().all_fired
