"""Worker: when a key comes back, and what ends the work."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from myrmidon import Failed
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import LeadershipLostError
from myrmidon.fsm.engine import Outcome
from myrmidon.runtime.queue.queue import Turn, Urgency
from myrmidon.runtime.worker import work
from myrmidon.testing import VirtualTimeLoop, run
from tests.runtime.things import Thing
from tests.runtime.worker_pools import worker_pool

IT = ObjectRef(Thing.KIND, "it", "default")
RESYNC = 3600.0
HOUR, TENTH = timedelta(hours=1), timedelta(seconds=0.1)
Said = Outcome | None | Exception


class Day:
    """One worker, and passes that say what a test tells them to."""

    def __init__(self, *said: Said) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        self.said, self.passes = list(said), list[tuple[float, str, Urgency]]()
        self.ended: list[float] = []
        self.loop = loop
        self.pool = worker_pool(
            loop,
            self.reconcile,
            resync=RESYNC,
            ended=lambda _key: self.ended.append(loop.time()),
        )

    async def reconcile(self, turn: Turn[ObjectRef]) -> Outcome | None:
        """Say the next thing; after the last the pool is over."""
        causes = " ".join(cause.relation for cause in turn.causes)
        self.passes.append((round(self.loop.time(), 3), causes, turn.urgency))
        said = self.said.pop(0)
        if not self.said:
            self.pool.stop()
        if isinstance(said, Exception):
            raise said
        return said


def lived(*said: Said) -> Day:
    """A day with one key, whose passes say this."""

    async def main() -> Day:
        day = Day(*said)
        day.pool.add(IT)
        await work(day.pool)
        return day

    return run(main())


def times(*said: Said) -> list[float]:
    """When the passes ran that said this; one more follows."""
    return [at for at, _, _ in lived(*said, None).passes]


BACKOFF = Outcome(backoff=True)
FAILED = Outcome(failure=Failed("Bad", "no"), backoff=True)


@pytest.mark.parametrize(
    ("said", "at"),
    [
        ([Outcome(after=HOUR)], [0, 3600]),
        ([Outcome(ended=True)], [0, RESYNC]),
        ([BACKOFF, BACKOFF, BACKOFF], [0, 1, 3, 7]),
        ([FAILED, KeyError("surprise"), FAILED], [0, 1, 3, 7]),
        ([Outcome(after=HOUR, backoff=True)], [0, 1]),
        ([Outcome(after=TENTH, backoff=True)], [0, 0.1]),
        ([BACKOFF, BACKOFF, Outcome(after=HOUR), BACKOFF], [0, 1, 3, 3603, 3604]),
    ],
    ids=["after", "resync", "backoff", "failures", "later", "sooner", "reset"],
)
def test_when_a_key_comes_back(said: list[Said], at: list[float]) -> None:
    """As it asks; the sooner of a delay of its own and of a growing one; success resets that."""
    assert times(*said) == pytest.approx(at)


def test_why_a_key_comes_back() -> None:
    """A timer is live, a resync lets live changes go first."""
    day = lived(Outcome(after=HOUR), Outcome(ended=True), None)

    assert [(causes, urgency) for _, causes, urgency in day.passes] == [
        ("", Urgency.LIVE),
        ("timer", Urgency.LIVE),
        ("resync", Urgency.BACKGROUND),
    ]
    assert len(day.ended) == 3


def test_an_object_that_is_gone_is_owed_nothing() -> None:
    """A pass over nothing asks for no other."""

    async def main() -> list[Turn[ObjectRef]]:
        day = Day(None)
        day.pool.add(IT)
        await work(day.pool)
        return day.pool.queue.owed()

    assert run(main()) == []


def test_a_lost_lease_ends_the_work() -> None:
    """It is no failure of the object, and nothing is tried again by this process."""

    async def main() -> Day:
        day = Day(LeadershipLostError("another leads"), None)
        day.pool.add(IT)
        with pytest.raises(LeadershipLostError):
            await work(day.pool)
        return day

    day = run(main())
    assert day.pool.queue.owed() == []
    assert not day.pool.queue.working
    assert len(day.ended) == 1


@pytest.mark.parametrize(
    "wake",
    [lambda day: day.pool.stop(), lambda day: day.pool.add(IT)],
    ids=["stop", "add"],
)
def test_an_idle_worker_wakes(wake: Callable[[Day], None]) -> None:
    """When the pool ends, and when something is added."""

    async def main() -> float:
        day = Day(None)
        async with asyncio.TaskGroup() as group:
            group.create_task(work(day.pool))
            await day.pool.clock.sleep(5.0)
            wake(day)
        return day.loop.time()

    assert run(main()) == 5.0


def test_what_is_added_during_its_own_work_is_taken_by_an_idle_worker() -> None:
    """One worker sleeps while the other works on the key; each pass is one worker's alone."""

    async def main() -> list[float]:
        day = Day(None, None)
        inner: Callable[[Turn[ObjectRef]], Awaitable[Outcome | None]] = day.reconcile

        async def slow(turn: Turn[ObjectRef]) -> Outcome | None:
            outcome = await inner(turn)
            await day.pool.clock.sleep(10.0)
            return outcome

        day.pool.reconcile = slow
        async with asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(work(day.pool))
            day.pool.add(IT)
            await day.pool.clock.sleep(2.0)
            day.pool.add(IT)
        return [at for at, _, _ in day.passes]

    assert run(main()) == [0.0, 10.0]


@pytest.mark.parametrize("raises", [False, True], ids=["swallowed", "another error"])
def test_q9_a_cancelled_worker_ends_whatever_a_state_makes_of_it(raises: bool) -> None:
    """A process that lost its lease must not go on with passes because a state caught everything."""

    async def main() -> int:
        day = Day()
        began = asyncio.Event()

        async def reconcile(turn: Turn[ObjectRef]) -> None:
            day.passes.append((0.0, "", turn.urgency))
            began.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if raises:
                    raise ValueError("cleaning up failed") from None

        day.pool.reconcile = reconcile
        for name in ("a", "b", "c"):
            day.pool.add(IT._replace(name=name))
        async with asyncio.TaskGroup() as group:
            worker = group.create_task(work(day.pool))
            await began.wait()
            worker.cancel()
        assert worker.cancelled()
        return len(day.passes)

    assert run(main()) == 1
