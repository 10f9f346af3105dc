"""Three bugs that the framework once had, put back on purpose: the simulator finds each of them.

Each test switches one safeguard off and runs a small scenario under a few plans; without the bug the
same plans find nothing.  So a later change that loses the safeguard would be found in the same way.
"""

from datetime import timedelta
from typing import Any

import pytest

from myrmidon import (
    Controller,
    ControllerOptions,
    Done,
    Model,
    OutputSet,
    Resource,
    Result,
    Status,
    Wait,
    kinds,
    state,
    when_children_ready,
)
from myrmidon.fsm.children import readiness
from myrmidon.io.timers.clock import LoopClock
from myrmidon.runtime.queue.queue import Turn
from myrmidon.runtime.reconcile import pruning
from myrmidon.runtime.reconcile.worker import WorkerPool
from myrmidon.testing import Plan, Scenario, Simulation, simulate
from myrmidon.testing.simulation import actions as a
from myrmidon.testing.simulation import triggers as t
from myrmidon.testing.simulation.references import References
from tests.testing.simulation.things import child


def found(target: Any, *plans: Plan) -> set[str]:
    """Run a scenario without faults and under each plan; return the oracles that fired."""
    references = References(Scenario(target))
    runs = [references.run(plan).failures for plan in plans]
    return {failure.oracle for failures in (references.failures, *runs) for failure in failures}


# ------------------------------------------------------------------------- a pruning that leaks


class ShelfSpec(Model):
    """How many ConfigMaps there are."""

    size: int = 1


class Shelf(Resource[ShelfSpec, Status], group="sim.myrmidon.dev", version="v1"):
    """Some ConfigMaps."""


class Shelves(Controller[Shelf]):
    """Keeps so many ConfigMaps, and prunes the others."""

    manages = (kinds.CONFIG_MAP,)
    options = ControllerOptions(prune=True)

    @state(initial=True, condition="Filled")
    def filled(self, shelf: Shelf, out: OutputSet) -> Result:
        """There are as many ConfigMaps as the spec says."""
        for number in range(shelf.spec.size):
            out.apply(child("ConfigMap", f"{shelf.name}-{number}", data={"n": str(number)}))
        return Done()


async def shrinking(sim: Simulation) -> None:
    """A shelf gets larger and smaller."""
    sim.controller(Shelves)
    made = await sim.user.create(Shelf(name="a", spec=ShelfSpec(size=1)))
    await sim.settle()
    await sim.user.patch(made, size=3)
    await sim.settle()
    await sim.user.patch(made, size=1)
    await sim.settle()


def test_a13_a_prune_that_sees_only_recorded_children_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A crash between a create and the status write leaves a child that no status records."""

    async def blind(*_: Any) -> None: ...

    smaller = a.user("edit", "Shelf/a", {"spec": {"size": 1}})
    crashes = [
        Plan.of((t.write(number), smaller), (t.write(number), a.crash("after")))
        for number in (3, 4)
    ]
    assert found(shrinking, *crashes) == set()
    monkeypatch.setattr(pruning, "find_unrecorded", blind)
    monkeypatch.setattr(pruning, "settle_unsure", blind)
    assert "O1" in found(shrinking, *crashes)


# ---------------------------------------------------------- fresh children that count as ready


class Outer(Resource[ShelfSpec, Status], group="sim.myrmidon.dev", version="v1"):
    """Has a Shelf."""


class Outers(Controller[Outer]):
    """Keeps a Shelf for each Outer, and is ready when that is."""

    manages = (Shelf,)
    children_ready = when_children_ready()

    @state(initial=True, condition="Shelved", then="children_ready")
    def shelved(self, outer: Outer, out: OutputSet) -> Result:
        """There is a Shelf."""
        out.apply(Shelf(name=outer.name, spec=ShelfSpec(size=outer.spec.size)))
        return Done()


def is_true(obj: Any, condition_type: str = "Ready") -> bool:
    """Whether an object has a condition that is True."""
    conditions = ((obj or {}).get("status") or {}).get("conditions") or ()
    return any(one["type"] == condition_type and one["status"] == "True" for one in conditions)


async def nested(sim: Simulation) -> None:
    """An Outer is never ready before its Shelf has once been ready."""
    sim.controller(Outers, Shelves)
    sim.never(
        "an Outer is ready, and its Shelf has not reported yet",
        lambda world: is_true(world.get("Outer", "a")) and not is_true(world.get("Shelf", "a")),
    )
    await sim.user.create(Outer(name="a"))
    await sim.settle()


def test_c9_a_fresh_child_that_counts_as_ready_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A custom child without a status counted as ready, so its parent went on too early."""
    reported = readiness._reported

    def lenient(obj: Any) -> bool:
        return readiness.is_silent(obj) or reported(obj)

    assert found(nested) == set()
    monkeypatch.setattr(readiness, "_reported", lenient)
    assert found(nested)


# ------------------------------------------------------------------------------ a lost wakeup


class Waiting(Controller[Shelf]):
    """Checks each Shelf again after 3 or 4 s; the first of them keeps a worker busy for 15 s."""

    manages = (kinds.CONFIG_MAP,)
    options = ControllerOptions(workers=2)

    def __init__(self) -> None:
        self._seen: set[str] = set()

    @state(initial=True, condition="Checked")
    async def checked(self, shelf: Shelf, out: OutputSet) -> Result:
        """The Shelf was seen twice, and then it has a ConfigMap."""
        is_busy = shelf.name == "busy"
        if shelf.name not in self._seen:
            self._seen.add(shelf.name)
            return Wait("First", "seen once", after=timedelta(seconds=3 if is_busy else 4))
        if is_busy:
            await LoopClock().sleep(15)
        out.apply(child("ConfigMap", shelf.name))
        return Done()


async def rechecked(sim: Simulation) -> None:
    """A Shelf gets its ConfigMap within 8 s, although another one keeps a worker busy."""
    sim.controller(Waiting)
    await sim.user.create(Shelf(name="a"))
    sim.eventually("a is checked", lambda world: world.exists("ConfigMap", "a"), within=8)
    await sim.user.create(Shelf(name="busy"))
    await sim.settle()


def test_q10_a_worker_that_sets_no_alarm_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that took a key left the alarm for the next one to a worker that slept for long."""

    def take(self: WorkerPool) -> Turn[Any] | None:
        turn = self.queue.take(now := self.clock.monotonic())
        wake_at = self.queue.wake_at()
        if turn is None and wake_at is not None:
            self.wakeup.ring_within(wake_at - now)
        return turn

    assert not simulate(rechecked).failures
    monkeypatch.setattr(WorkerPool, "take", take)
    assert simulate(rechecked).failures
