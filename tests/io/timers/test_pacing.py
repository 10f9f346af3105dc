"""Pacer: long work is divided into short turns of the event loop."""

import asyncio
import gc
import weakref

import pytest

from myrmidon.io.timers.pacing import TURN_SECONDS_MAX, TURN_STEPS_MAX, pacer
from myrmidon.testing import VirtualTimeLoop, run


class TurnMeter:
    """Measures each turn of a loop in virtual time, in which work moves the clock."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        self.loop, self.longest, self.turns = loop, 0.0, 0
        self._at = loop.time()
        self._tick()

    def _tick(self) -> None:
        now = self.loop.time()
        self.longest, self._at = max(self.longest, now - self._at), now
        self.turns += 1
        self._timer = self.loop.call_soon(self._tick)

    def stop(self) -> None:
        """Stop measuring."""
        self._timer.cancel()


async def work(steps: int, seconds: float) -> None:
    """Do so many steps of work that never waits, each of which takes this long."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    for _ in range(steps):
        loop.jump(seconds)
        await pacer().give_way()


@pytest.mark.parametrize("tasks", [1, 4, 50])
def test_q8_tasks_share_the_budget_of_a_turn(tasks: int) -> None:
    """A turn takes its budget and the steps that were begun, not a budget for each task."""
    step = 0.0002

    async def main() -> TurnMeter:
        meter = TurnMeter()
        async with asyncio.TaskGroup() as group:
            for _ in range(tasks):
                group.create_task(work(2000, step))
        meter.stop()
        return meter

    meter = run(main())
    assert meter.longest <= TURN_SECONDS_MAX + (tasks + 1) * step
    assert meter.turns >= tasks * 2000 * step / (TURN_SECONDS_MAX + (tasks + 1) * step)


def test_q8_steps_are_limited_where_the_clock_stands_still() -> None:
    """In virtual time code takes no time, and yet other tasks get their turn."""

    async def main() -> int:
        meter = TurnMeter()
        await work(10 * TURN_STEPS_MAX, 0.0)
        meter.stop()
        return meter.turns

    assert run(main()) >= 10


def test_a_young_turn_is_not_ended() -> None:
    """Work within the budget runs in one turn, so that yielding costs almost nothing."""

    async def main() -> int:
        await pacer().give_way()  # the first call ends a turn of unknown age
        meter = TurnMeter()
        await work(TURN_STEPS_MAX - 2, TURN_SECONDS_MAX / TURN_STEPS_MAX / 2)
        meter.stop()
        return meter.turns

    assert run(main()) == 1


def test_each_loop_has_one_pacer_and_keeps_none_alive() -> None:
    """Two users of a loop get the same; it is freed with its loop."""

    async def main() -> tuple[bool, weakref.ref[asyncio.AbstractEventLoop]]:
        return pacer() is pacer(), weakref.ref(asyncio.get_running_loop())

    same, loop = run(main())
    gc.collect()
    assert same
    assert loop() is None
