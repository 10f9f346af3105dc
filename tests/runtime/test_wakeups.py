"""Q10: queue, wakeup and workers together: an idle worker takes a key as soon as it is due."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.fsm.engine import Outcome
from myrmidon.runtime.queue.queue import Turn
from myrmidon.runtime.reconcile.worker import work
from myrmidon.testing import VirtualTimeLoop, run
from tests.runtime.things import Thing
from tests.runtime.worker_pools import worker_pool

WORKERS = 4


class Office:
    """Four workers; each pass takes as long as its key says, and asks for no other."""

    def __init__(self, seconds: dict[str, float]) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        self.loop, self.seconds = loop, seconds
        self.late: list[tuple[str, float]] = []
        self.all_busy_until = 0.0
        self.finished_at: dict[ObjectRef, float] = {}
        self.passes = 0
        self.pool = worker_pool(loop, self.reconcile, ended=self.ended)

    def ended(self, key: ObjectRef) -> None:
        """The key can be taken again, and a worker is idle."""
        self.finished_at[key] = self.loop.time()
        if len(self.pool.queue.working) == WORKERS:
            self.all_busy_until = self.loop.time()

    async def reconcile(self, turn: Turn[ObjectRef]) -> Outcome | None:
        """Record how long the key waited although a worker was idle; then work."""
        self.passes += 1
        takeable_at = max(turn.due_at, self.finished_at.get(turn.key, 0.0), self.all_busy_until)
        waited = self.loop.time() - takeable_at
        if waited > 0.1:
            self.late.append((turn.key.name, waited))
        await self.pool.clock.sleep(self.seconds[turn.key.name])
        return None


Day = list[tuple[float, str, float]]
ADDS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.0, 1.0, 2.5]),  # seconds after the previous add
        st.sampled_from("abcdef"),
        st.sampled_from([0.0, 1.0, 3.0, 10.0, 20.0]),  # due that many seconds later
    ),
    max_size=25,
)
LENGTHS = st.fixed_dictionaries({key: st.sampled_from([0.0, 0.5, 14.0]) for key in "abcdef"})


def late(day: Day, seconds: dict[str, float]) -> list[tuple[str, float]]:
    """Return the keys that waited although a worker was idle, and for how long."""

    async def main() -> list[tuple[str, float]]:
        office = Office(seconds)
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(work(office.pool))
            for pause, key, delay in day:
                await office.pool.clock.sleep(pause)
                office.pool.add(ObjectRef(Thing.KIND, key, "default"), delay=delay)
            while len(office.pool.queue):
                await office.pool.clock.sleep(1.0)
                # If no key is owed for longer than the longest delay, a wakeup was lost.
                assert office.loop.time() < 1000.0
            office.pool.stop()
        return office.late

    return run(main())


@settings(max_examples=300, deadline=None)
@given(ADDS, LENGTHS)
def test_q10_an_idle_worker_takes_a_key_as_soon_as_it_is_due(
    day: Day, seconds: dict[str, float]
) -> None:
    """For any adds at any times, and passes of any duration."""
    assert late(day, seconds) == []


def test_q10_a_worker_that_takes_a_key_sets_the_timer_for_the_next() -> None:
    """Three of four workers sleep; a long pass begins; the next key is due before it ends."""
    assert late([(0.0, "a", 1.0), (0.0, "b", 3.0)], {"a": 17.0, "b": 0.0}) == []


@pytest.mark.parametrize("victim", range(WORKERS))
def test_q10_a_wakeup_of_a_cancelled_worker_is_passed_on(victim: int) -> None:
    """A worker that is woken and cancelled in the same turn has not taken the key."""

    async def main() -> tuple[float, int]:
        office = Office({"a": 0.0})
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work(office.pool)) for _ in range(WORKERS)]
            await office.pool.clock.sleep(1.0)
            office.pool.add(ObjectRef(Thing.KIND, "a", "default"))
            tasks[victim].cancel()
            await office.pool.clock.sleep(1.0)
            passes = office.passes
            office.pool.stop()
        return office.loop.time(), passes

    assert run(main()) == (2.0, 1)
