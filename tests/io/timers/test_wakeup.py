"""Wakeup: who is woken, and when."""

import asyncio
from collections.abc import Awaitable, Callable

from myrmidon.io.timers.wakeup import Wakeup
from myrmidon.testing import run

sleep = asyncio.sleep  # noqa: TID251  of virtual time


Tasks = list[asyncio.Task[None]]


def woken(
    act: Callable[[Wakeup, Tasks], Awaitable[None]], *naps: float | None
) -> list[tuple[int, float]]:
    """Who wakes up and when, if they fall asleep one after the other."""
    seen: list[tuple[int, float]] = []

    async def nap(wakeup: Wakeup, number: int, seconds: float | None) -> None:
        if seconds is not None:
            wakeup.ring_within(seconds)
        await wakeup.sleep()
        seen.append((number, asyncio.get_running_loop().time()))

    async def main() -> None:
        wakeup = Wakeup()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(nap(wakeup, *one)) for one in enumerate(naps)]
            await sleep(1)
            await act(wakeup, tasks)
            await sleep(100)
            for task in tasks:
                task.cancel()

    run(main())
    return seen


async def nothing(_bell: Wakeup, _tasks: Tasks) -> None:
    """Let them sleep."""


def test_a_ring_wakes_one() -> None:
    """The one who has slept longest."""

    async def act(wakeup: Wakeup, _tasks: Tasks) -> None:
        wakeup.ring()

    assert woken(act, None, None, None) == [(0, 1)]


def test_a_ring_is_not_wasted_on_who_is_gone() -> None:
    """A worker that was cancelled hears nothing."""

    async def act(wakeup: Wakeup, tasks: Tasks) -> None:
        tasks[0].cancel()
        await sleep(0)
        wakeup.ring()

    assert woken(act, None, None, None) == [(1, 1)]


def test_all_can_be_woken() -> None:
    """At the end of the day."""

    async def act(wakeup: Wakeup, tasks: Tasks) -> None:
        tasks[2].cancel()
        await sleep(0)
        wakeup.ring_for_all()

    assert woken(act, None, None, None) == [(0, 1), (1, 1)]


def test_an_alarm_wakes_one_at_the_earliest_time() -> None:
    """Whoever asked for it; the one who wakes sees to the next."""
    assert woken(nothing, None, 20.0, 10.0, 30.0) == [(0, 10)]
    assert woken(nothing, 5.0) == [(0, 5)]
    assert woken(nothing, -1.0) == [(0, 0)]


def test_a_later_alarm_follows_the_one_that_has_rung() -> None:
    """The time of the last one is forgotten with it."""

    async def act(wakeup: Wakeup, _tasks: Tasks) -> None:
        await sleep(9)  # 10 by now, and the first is awake
        wakeup.ring_within(40.0)
        await wakeup.sleep()
        assert asyncio.get_running_loop().time() == 50

    assert woken(act, 5.0) == [(0, 5)]
