"""Time in the harness: each timer fires once at its time, and no test waits without end."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from myrmidon import (
    Context,
    Controller,
    ControllerOptions,
    Done,
    OutputSet,
    Result,
    Wait,
    kinds,
    state,
)
from myrmidon.testing import Harness, NotSettledError
from tests.testing.machines import Thing, ThingSpec

SECOND = timedelta(seconds=1)


class Periodic(Controller[Thing]):
    """Runs a pass every ``size`` seconds, and records when."""

    def __init__(self) -> None:
        self.ran_at: list[datetime] = []

    @state(initial=True)
    def ticked(self, thing: Thing, out: OutputSet, ctx: Context) -> Result:
        """Wait for the next time."""
        self.ran_at.append(ctx.now)
        return Wait("Ticking", after=thing.spec.size * SECOND)


class Sleepers(Controller[Thing]):
    """A state that awaits a response for ``size`` seconds."""

    options = ControllerOptions(workers=2)

    @state(initial=True)
    async def slept(self, thing: Thing, out: OutputSet) -> Result:
        """The response is there."""
        await asyncio.sleep(thing.spec.size)  # noqa: TID251 - virtual, because the loop is
        return Done()


def seconds(times: list[datetime]) -> list[int]:
    """Return when the passes ran, in seconds after the first."""
    return [round((one - times[0]).total_seconds()) for one in times]


@pytest.mark.parametrize("step", [1, 5, 10, 25, 50])
def test_a_timer_at_the_end_of_an_advance_has_fired(step: int) -> None:
    """The end is inclusive, in however many steps the time passes."""
    periodic = Periodic()
    with Harness(periodic) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec(size=5)))
        cluster.step()
        for _ in range(50 // step):
            cluster.advance(step * SECOND)

        assert seconds(periodic.ran_at) == list(range(0, 55, 5))


@pytest.mark.parametrize("period", [0.1, 0.3, 1 / 3, 0.7, 0.101])
def test_a_boundary_that_floating_point_misses_is_reached(period: float) -> None:
    """0.1 + 0.1 + 0.1 is not 0.3, but three tenths of a second are."""

    class Quick(Periodic):
        @state(initial=True)
        def ticked(self, thing: Thing, out: OutputSet, ctx: Context) -> Result:
            """Wait for the next time."""
            self.ran_at.append(ctx.now)
            return Wait("Ticking", after=timedelta(seconds=period))

    quick = Quick()
    with Harness(quick) as cluster:
        cluster.apply(Thing(name="a"))
        cluster.step()
        for passes in range(1, 200):
            assert len(quick.ran_at) == passes
            cluster.advance(timedelta(seconds=period))


DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "a"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "a"}},
        "template": {
            "metadata": {"labels": {"app": "a"}},
            "spec": {"containers": [{"name": "a", "image": "a"}]},
        },
    },
}


class Rollouts(Controller[Thing]):
    """Applies a Deployment and records, every second, how many replicas are available."""

    manages = (kinds.DEPLOYMENT,)

    def __init__(self) -> None:
        self.available: list[int] = []

    @state(initial=True)
    async def rolled_out(self, thing: Thing, out: OutputSet, ctx: Context) -> Result:
        """Record the replicas and wait."""
        found = await ctx.get(kinds.DEPLOYMENT, thing.name) or {}
        self.available.append(found.get("status", {}).get("availableReplicas", 0))
        out.apply({**DEPLOYMENT, "metadata": {"name": thing.name}})
        return Wait("Looking", after=SECOND, keep_outputs=True)


def test_the_actors_of_the_server_act_while_time_passes() -> None:
    """The pods of a Deployment start a second after its creation, not at the end of the minute."""
    rollouts = Rollouts()
    with Harness(rollouts) as cluster:
        cluster.apply(Thing(name="a"))
        cluster.advance(timedelta(minutes=1))

        assert cluster.require(kinds.DEPLOYMENT, "a")["status"]["availableReplicas"] == 2
    assert rollouts.available.count(0) <= 4
    assert rollouts.available[-1] == 2


def test_garbage_is_collected_while_time_passes() -> None:
    """The children of a deleted object are gone when the time has passed."""
    with Harness(Rollouts()) as cluster:
        cluster.apply(Thing(name="a"))
        cluster.advance(timedelta(seconds=10))
        cluster.delete(Thing, "a")
        cluster.advance(timedelta(seconds=10))

        assert cluster.list(kinds.DEPLOYMENT) == []
        assert cluster.list(kinds.POD) == []


def test_settling_with_more_objects_due_than_workers() -> None:
    """Objects wait for a worker while all workers await a response: time has to pass."""
    with Harness(Sleepers()) as cluster:
        for number in range(20):
            cluster.apply(Thing(name=f"a{number}", spec=ThingSpec(size=3)))
        began = cluster.loop.time()
        cluster.settle()

        assert all(cluster.ready(Thing, f"a{number}") for number in range(20))
        assert round(cluster.loop.time() - began) == 30


def test_settling_beside_a_periodic_timer_ends() -> None:
    """Also if more objects are due than there are workers."""
    with Harness(Sleepers()) as cluster:
        for number in range(5):
            cluster.apply(Thing(name=f"a{number}", spec=ThingSpec(size=10**6)))
        with pytest.raises(NotSettledError, match="not settled after 0:01:00"):
            cluster.settle(timedelta(minutes=1))


class Circles(Controller[Thing]):
    """A state that loops without letting time pass."""

    @state(initial=True)
    async def turned(self, thing: Thing, out: OutputSet) -> Result:
        """Loop."""
        while True:  # noqa: ASYNC110 - it must not wait
            await asyncio.sleep(0)  # noqa: TID251 - gives way


@pytest.mark.parametrize("how", ["settle", "advance", "step"])
def test_a_state_that_never_lets_time_pass_is_named(how: str) -> None:
    """The test fails instead of hanging."""
    with Harness(Circles()) as cluster:
        cluster.apply(Thing(name="a"))
        with pytest.raises(NotSettledError) as caught:
            cluster.advance(SECOND) if how == "advance" else getattr(cluster, how)()

    assert "no time has passed" in str(caught.value)
    assert "Thing.demo.myrmidon.dev default/a" in str(caught.value)


def history(workers: int) -> list[str]:
    """Return the requests of a test with many objects and timers, in order."""

    class Many(Rollouts):
        options = ControllerOptions(workers=workers)

    with Harness(Many()) as cluster:
        for number in range(10):
            cluster.apply(Thing(name=f"a{number}"))
        cluster.advance(timedelta(seconds=20))
        return [f"{one}" for one in cluster.writes]


def test_the_same_test_gives_the_same_requests() -> None:
    """Two runs send the same requests in the same order."""
    assert history(3) == history(3)
