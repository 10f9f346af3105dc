"""Wakeup: which sleeper is woken, and when."""

import asyncio
from collections.abc import Awaitable, Callable

from myrmidon.io.timers.wakeup import Wakeup
from myrmidon.testing import run

sleep = asyncio.sleep  # noqa: TID251  of virtual time


Tasks = list[asyncio.Task[None]]


def woken(
    act: Callable[[Wakeup, Tasks], Awaitable[None]], *naps: float | None
) -> list[tuple[int, float]]:
    """Return who wakes up and when, if they fall asleep one after the other."""
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
    """Do nothing."""


def test_a_notification_wakes_one() -> None:
    """The one that has slept longest."""

    async def act(wakeup: Wakeup, _tasks: Tasks) -> None:
        wakeup.ring()

    assert woken(act, None, None, None) == [(0, 1)]


def test_a_notification_is_not_wasted_on_a_cancelled_sleeper() -> None:
    """The next one is woken instead."""

    async def act(wakeup: Wakeup, tasks: Tasks) -> None:
        tasks[0].cancel()
        await sleep(0)
        wakeup.ring()

    assert woken(act, None, None, None) == [(1, 1)]


def test_all_can_be_woken() -> None:
    """At shutdown."""

    async def act(wakeup: Wakeup, tasks: Tasks) -> None:
        tasks[2].cancel()
        await sleep(0)
        wakeup.ring_for_all()

    assert woken(act, None, None, None) == [(0, 1), (1, 1)]


def test_a_timer_wakes_one_at_the_earliest_time() -> None:
    """Whichever sleeper asked for it; the one that wakes sets the next timer."""
    assert woken(nothing, None, 20.0, 10.0, 30.0) == [(0, 10)]
    assert woken(nothing, 5.0) == [(0, 5)]
    assert woken(nothing, -1.0) == [(0, 0)]


def test_a_later_timer_follows_the_one_that_has_fired() -> None:
    """The time of the fired one is forgotten."""

    async def act(wakeup: Wakeup, _tasks: Tasks) -> None:
        await sleep(9)  # 10 by now, and the first is awake
        wakeup.ring_within(40.0)
        await wakeup.sleep()
        assert asyncio.get_running_loop().time() == 50

    assert woken(act, 5.0) == [(0, 5)]
