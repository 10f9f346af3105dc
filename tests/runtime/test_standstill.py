"""Q8, Q5: the event loop keeps running for any number of objects and any requested delays."""

import asyncio
from collections import Counter
from datetime import timedelta
from typing import Any, ClassVar

import pytest

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.fsm import Channel, Done, Result, Wait
from myrmidon.fsm.context import Context
from myrmidon.io.timers.pacing import TURN_STEPS_MAX
from myrmidon.io.watch.changes import Change, Source, encode
from myrmidon.runtime import ManagerOptions
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness
from tests.runtime.things import Act, Thing, Things, done, thing

MINUTE = timedelta(minutes=1)


class Turns:
    """Counts events in each turn of an event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._number, self.events = 0, Counter[int]()
        self._run_once = loop._run_once  # type: ignore[attr-defined]
        loop._run_once = self._run  # type: ignore[attr-defined]

    def _run(self) -> None:
        self._number += 1
        self._run_once()

    def note(self) -> None:
        """Count one more in this turn."""
        self.events[self._number] += 1

    @property
    def most(self) -> int:
        """Return the largest number in one turn."""
        return max(self.events.values())


def test_q8_a_restart_over_many_objects_keeps_the_lease() -> None:
    """Passes that never wait take longer than the lease lasts: it is renewed between them."""

    def slow(_it: Thing, _out: OutputSet, _ctx: Context) -> Result:
        cluster.loop.jump(0.05)  # the time that computing takes
        return Done()

    options = ManagerOptions(seed=0, leader_election=True)
    with Harness(Things(slow), options=options) as cluster:
        for number in range(600):
            cluster.apply(thing(f"it-{number}"))
        cluster.settle()
        began_at = cluster.loop.time()
        cluster.restart()
        cluster.settle()
        cluster.advance(MINUTE)  # raises LeadershipLostError if the lease was lost

        assert cluster.loop.time() - began_at > options.terms.lease_seconds
        renewals = [
            one for one in cluster.writes if "/leases/" in one.request.path and one.status == 200
        ]
        assert len(renewals) >= 600 * 0.05 / options.terms.renew_seconds


@pytest.mark.parametrize(
    "asks",
    [
        lambda: Wait("Again", after=timedelta(0)),
        lambda: Done(recheck=Wait("Again", after=timedelta(0))),
        lambda: Done(pause=Wait("Again", after=timedelta(microseconds=1))),
    ],
    ids=["wait", "recheck", "pause"],
)
def test_q5_an_object_that_asks_for_its_next_pass_at_once_leaves_time_for_the_others(
    asks: Any,
) -> None:
    """It gets ten passes a second, with a single worker, and the others converge."""
    passes: list[str] = []

    def act(it: Thing, _out: OutputSet, _ctx: Context) -> Result:
        passes.append(it.name)
        result: Result = asks() if it.name == "bad" else Done()
        return result

    with Harness(Things(act, workers=1)) as cluster:
        for name in ("a", "bad", "z"):
            cluster.apply(thing(name))
        cluster.advance(MINUTE)

        assert cluster.ready(Thing, "a")
        assert cluster.ready(Thing, "z")
        assert 500 <= passes.count("bad") <= 601


@pytest.mark.parametrize("asked", [timedelta.max, timedelta(days=100_000)])
def test_an_object_may_ask_for_a_pass_in_a_million_years(asked: timedelta) -> None:
    """No timedelta breaks the queue, the clock or the snapshot."""

    def act(_it: Thing, _out: OutputSet, _ctx: Context) -> Result:
        return Wait("Later", after=asked)

    with Harness(Things(act), options=ManagerOptions(seed=0, trace=True)) as cluster:
        cluster.apply(thing())
        cluster.advance(MINUTE)

        (one,) = cluster.manager.snapshot().objects
        assert one.again_at is not None


class Called(Things):
    """Things with a channel."""

    channel = Channel("calls")
    channels: ClassVar[tuple[Channel, ...]] = (channel,)

    def __init__(self, first: Act = done) -> None:
        super().__init__(first)


def test_q8_a_flood_of_a_channel_is_taken_in_portions() -> None:
    """Other tasks run in between; sends of the same key are one pass."""
    passes: list[str] = []

    def act(it: Thing, _out: OutputSet, _ctx: Context) -> Result:
        passes.append(it.name)
        return Done()

    with Harness(Called(act)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        passes.clear()
        turns = adds(cluster)
        for number in range(20 * TURN_STEPS_MAX):
            Called.channel.send(f"default/absent-{number}")
            Called.channel.send("default/it")
        cluster.advance(timedelta(seconds=1))

        assert turns.events.total() == 20 * TURN_STEPS_MAX + 2  # one of them is the next resync
        assert turns.most <= TURN_STEPS_MAX + 10  # and what was begun
        assert passes == ["it"]


def test_q8_a_long_list_is_fed_in_portions() -> None:
    """Thousands of changes that arrive at once become keys in more than one turn."""
    with Harness(Things()) as cluster:
        cluster.settle()
        (loop,) = cluster.manager.loops
        refs = [ObjectRef(Thing.KIND, f"it-{n}", "default") for n in range(20 * TURN_STEPS_MAX)]
        entry = encode({}, "uid", 1)
        turns = adds(cluster)
        loop._subscription.put(Change(ref, None, entry, Source.LIST) for ref in refs)
        cluster.step()

        assert turns.events.total() == len(refs)
        assert turns.most <= TURN_STEPS_MAX + 10  # and what was begun


def test_q8_many_passes_are_run_in_portions() -> None:
    """The number of passes in one turn is limited, also if they never wait."""
    turns: Turns | None = None

    def act(_it: Thing, _out: OutputSet, _ctx: Context) -> Result:
        if turns is not None:
            turns.note()
        return Done()

    with Harness(Things(act)) as cluster:
        for number in range(3 * TURN_STEPS_MAX):
            cluster.apply(thing(f"it-{number}"))
        cluster.settle()
        turns = Turns(cluster.loop)
        cluster.restart()
        cluster.settle()

        assert turns.events.total() == 3 * TURN_STEPS_MAX
        assert turns.most <= TURN_STEPS_MAX + 10  # and what was begun


def adds(cluster: Harness) -> Turns:
    """Count the keys that the only controller adds to its queue in each turn from now on."""
    (loop,) = cluster.manager.loops
    queue, turns = loop.pool.queue, Turns(cluster.loop)
    inner = queue.add

    def add(*args: Any, **kwargs: Any) -> None:
        turns.note()
        inner(*args, **kwargs)

    queue.add = add  # type: ignore[method-assign]
    return turns
