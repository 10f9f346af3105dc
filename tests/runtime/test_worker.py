"""Worker: when a key is queued again, and what ends the worker."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from myrmidon import Failed
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import LeadershipLostError
from myrmidon.fsm.engine import Outcome
from myrmidon.runtime.queue.queue import Turn, Urgency
from myrmidon.runtime.reconcile.worker import work
from myrmidon.testing import VirtualTimeLoop, run
from tests.runtime.things import Thing
from tests.runtime.worker_pools import worker_pool

IT = ObjectRef(Thing.KIND, "it", "default")
RESYNC = 3600.0
HOUR, TENTH = timedelta(hours=1), timedelta(seconds=0.1)
Said = Outcome | None | Exception


class Day:
    """One worker, and passes with the results that a test lists."""

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
        """Return the next result; after the last one the pool is closed."""
        causes = " ".join(cause.relation for cause in turn.causes)
        self.passes.append((round(self.loop.time(), 3), causes, turn.urgency))
        said = self.said.pop(0)
        if not self.said:
            self.pool.stop()
        if isinstance(said, Exception):
            raise said
        return said


def lived(*said: Said) -> Day:
    """Run one key whose passes have these results."""

    async def main() -> Day:
        day = Day(*said)
        day.pool.add(IT)
        await work(day.pool)
        return day

    return run(main())


def times(*said: Said) -> list[float]:
    """Return when the passes with these results ran; one more follows."""
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
def test_when_a_key_is_queued_again(said: list[Said], at: list[float]) -> None:
    """At the requested delay or after the backoff, the earlier of them.

    Success resets the backoff.
    """
    assert times(*said) == pytest.approx(at)


def test_the_cause_of_the_next_pass() -> None:
    """A timer is live, a resync has background urgency."""
    day = lived(Outcome(after=HOUR), Outcome(ended=True), None)

    assert [(causes, urgency) for _, causes, urgency in day.passes] == [
        ("", Urgency.LIVE),
        ("timer", Urgency.LIVE),
        ("resync", Urgency.BACKGROUND),
    ]
    assert len(day.ended) == 3


def test_a_deleted_object_has_no_next_pass() -> None:
    """A pass without an object asks for no other."""

    async def main() -> list[Turn[ObjectRef]]:
        day = Day(None)
        day.pool.add(IT)
        await work(day.pool)
        return day.pool.queue.owed()

    assert run(main()) == []


def test_a_lost_lease_ends_the_work() -> None:
    """It is not a failure of the object, and this process retries nothing."""

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
    """When the pool ends, and when a key is added."""

    async def main() -> float:
        day = Day(None)
        async with asyncio.TaskGroup() as group:
            group.create_task(work(day.pool))
            await day.pool.clock.sleep(5.0)
            wake(day)
        return day.loop.time()

    assert run(main()) == 5.0


def test_a_key_that_is_added_during_its_pass_is_taken_by_an_idle_worker() -> None:
    """One worker sleeps while the other works on the key; each pass has one worker."""

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
    """A process that lost its lease must not continue because a state caught the cancellation."""

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
