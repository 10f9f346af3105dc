"""A fixed number of slots, with waiters that may be cancelled."""

import asyncio
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from myrmidon.io.http.slots import Slots
from myrmidon.testing import run

sleep = asyncio.sleep  # noqa: TID251  of virtual time


@given(seed=st.integers(0, 2**32), count=st.integers(1, 4))
def test_never_more_slots_in_use_than_allowed_and_none_is_lost(seed: int, count: int) -> None:
    """Some waiters are cancelled: while they wait, when their turn comes, and while they work."""
    rng = Random(seed)
    slots = Slots(count)
    working, most = 0, 0

    async def work(seconds: int) -> None:
        nonlocal working, most
        if not slots.take():
            await slots.wait()
        working += 1
        most = max(most, working)
        try:
            await sleep(seconds)
        finally:
            working -= 1
            slots.give_back()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            for _ in range(20):
                task = group.create_task(work(rng.randrange(3)))
                if rng.random() < 0.5:
                    loop.call_later(rng.randrange(6), task.cancel)

    run(main())
    assert (slots.free, most) == (count, count)


def test_waiters_are_served_in_order() -> None:
    """Also before a caller that arrives when a slot is released."""
    order: list[int] = []

    async def work(slots: Slots, number: int) -> None:
        if not slots.take():
            await slots.wait()
        order.append(number)
        await sleep(1)
        slots.give_back()

    async def main() -> None:
        slots = Slots(1)
        async with asyncio.TaskGroup() as group:
            for number in range(5):
                group.create_task(work(slots, number))
            await sleep(1)
            group.create_task(work(slots, 5))

    run(main())
    assert order == [0, 1, 2, 3, 4, 5]


def test_a_slot_of_a_cancelled_waiter_goes_to_the_next() -> None:
    """It was cancelled after it was given the slot, and before it could run."""

    async def main() -> int:
        slots = Slots(1)
        assert slots.take()
        async with asyncio.TaskGroup() as group:
            task = group.create_task(slots.wait())
            await sleep(0)
            slots.give_back()
            task.cancel()
        assert task.cancelled()
        return slots.free

    assert run(main()) == 1
