"""Garbage collections do not visit the caches, and freezing them ends."""

import gc

import pytest

from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.runtime import ManagerOptions
from myrmidon.runtime.process.garbage import (
    FREEZE_SECONDS,
    PHASE_SECONDS_MAX,
    freeze_until,
    keeps_freezing,
)
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness, VirtualClock, VirtualTimeLoop
from tests.runtime.things import Thing, Things, ThingSpec, thing


@pytest.mark.parametrize(
    ("over", "seconds", "again"),
    [
        (False, 0.0, True),
        (False, PHASE_SECONDS_MAX - 0.1, True),
        (False, PHASE_SECONDS_MAX, False),
        (True, 0.0, False),
        (True, 2 * PHASE_SECONDS_MAX, False),
    ],
)
def test_when_to_freeze_again(over: bool, seconds: float, again: bool) -> None:
    """During a phase of the start, but for a limited time: frozen cycles are never freed."""
    assert keeps_freezing(over=over, seconds=seconds) is again


@pytest.mark.parametrize(
    ("lasts", "times"),
    [(0.6, 4), (0.0, 1), (10 * PHASE_SECONDS_MAX, PHASE_SECONDS_MAX / FREEZE_SECONDS + 1)],
    ids=["short", "over already", "endless"],
)
def test_q8_everything_is_frozen_while_a_phase_of_the_start_lasts(
    lasts: float, times: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Freezing happens periodically, and once at the end."""
    frozen_at: list[float] = []
    loop = VirtualTimeLoop()
    monkeypatch.setattr(gc, "freeze", lambda: frozen_at.append(loop.time()))
    clock = VirtualClock(loop)
    began_at = loop.time()
    loop.run_until_complete(freeze_until(lambda: loop.time() >= began_at + lasts, clock))
    loop.close()

    numbers = [round((at - began_at) / FREEZE_SECONDS) for at in frozen_at]
    assert numbers == list(range(int(times)))


@pytest.mark.parametrize("asked", [True, False])
def test_a_manager_freezes_only_if_asked(asked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The collector belongs to the whole process."""
    calls: list[None] = []
    monkeypatch.setattr(gc, "freeze", lambda: calls.append(None))
    with Harness(Things(), options=ManagerOptions(freeze_garbage=asked)) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec()))
        cluster.settle()

    assert bool(calls) is asked


def test_q8_a_manager_freezes_while_its_caches_fill_and_during_the_first_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A standby does not freeze: it may wait for days, and its cycles must be freed."""

    async def slow(_it: Thing, _out: OutputSet, _ctx: Context) -> Result:
        passed_at.append(cluster.loop.time())
        await VirtualClock(cluster.loop).sleep(1.0)
        return Done()

    frozen_at: list[float] = []
    passed_at: list[float] = []
    options = ManagerOptions(seed=0, leader_election=True, freeze_garbage=True)
    with Harness(Things(slow, workers=1), options=options) as cluster:
        monkeypatch.setattr(gc, "freeze", lambda: frozen_at.append(cluster.loop.time()))
        for number in range(10):
            cluster.apply(thing(f"it-{number}"))
        cluster.settle()
        passed_at.clear()
        frozen_at.clear()
        began_at = cluster.loop.time()
        cluster.restart()
        cluster.settle()

    workers_at = passed_at[0]
    assert workers_at - began_at > 10, "a takeover waits for the lease to expire"
    filling = [at for at in frozen_at if at < began_at + 5]
    waiting = [at for at in frozen_at if began_at + 5 <= at < workers_at - 1]
    passing = [at for at in frozen_at if at >= workers_at]
    assert filling
    assert not waiting
    assert len(passing) >= 10 / FREEZE_SECONDS, "ten passes of one second each"
    assert passing[-1] < passed_at[-1] + 2, "no longer than they take"
