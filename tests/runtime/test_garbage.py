"""Garbage collections do not walk the caches."""

import gc

import pytest

from myrmidon.runtime import ManagerOptions
from myrmidon.runtime.garbage import FREEZE_SECONDS, freeze_until
from myrmidon.testing import Harness, VirtualClock, VirtualTimeLoop
from tests.runtime.things import Thing, Things, ThingSpec


def test_q8_everything_is_frozen_until_the_workers_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Again and again while the caches fill, and once when they are full."""
    frozen_at: list[float] = []
    loop = VirtualTimeLoop()
    monkeypatch.setattr(gc, "freeze", lambda: frozen_at.append(loop.time()))
    clock = VirtualClock(loop)
    began_at = loop.time()
    loop.run_until_complete(freeze_until(lambda: loop.time() >= began_at + 0.6, clock))
    loop.close()

    assert [round((at - began_at) / FREEZE_SECONDS) for at in frozen_at] == [0, 1, 2, 3]


@pytest.mark.parametrize("asked", [True, False])
def test_a_manager_freezes_only_if_asked(asked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The collector belongs to the whole process."""
    calls: list[None] = []
    monkeypatch.setattr(gc, "freeze", lambda: calls.append(None))
    with Harness(Things(), options=ManagerOptions(freeze_garbage=asked)) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec()))
        cluster.settle()

    assert bool(calls) is asked
