"""Q9: no task of the process ends unnoticed, and an exception of a state fails only its pass."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from myrmidon.api.objects import kinds
from myrmidon.errors import MyrmidonError, TaskEndedError
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.io.events import EventRecorder
from myrmidon.io.tasks import lasting
from myrmidon.io.watch.caches import Caches
from myrmidon.io.watch.reflector import Reflector
from myrmidon.runtime import ManagerOptions
from myrmidon.runtime.controller import loop as controller_loop
from myrmidon.runtime.leader.elector import Elector
from myrmidon.runtime.queue.inbox import Inbox
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness, run
from tests.runtime.test_standstill import Called
from tests.runtime.things import Thing, Things, config_map, thing

MINUTE = timedelta(minutes=1)


async def awaits_a_cancelled_task() -> None:
    """Wait for a task that other code has cancelled."""
    gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    gone.cancel()
    await gone


async def calls_exit() -> None:
    """Call a library that calls exit()."""
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("breaks", "said"),
    [
        (awaits_a_cancelled_task, "CancelledError: the state awaited a task or future"),
        (calls_exit, "SystemExit: a state cannot end the process"),
    ],
    ids=["cancelled", "exit"],
)
def test_q9_no_exception_of_a_state_ends_a_worker(
    breaks: Callable[[], Any], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """More exceptions than workers; the objects report them, and all others converge."""

    async def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        if it.name.startswith("bad"):
            await breaks()
        out.apply(config_map(it.name))
        return Done()

    with Harness(Things(act, workers=4)) as cluster:
        for number in range(6):
            cluster.apply(thing(f"bad-{number}"))
        cluster.apply(thing("good"))
        cluster.advance(MINUTE)

        condition = cluster.condition(Thing, "bad-0", "First")
        assert condition is not None
        assert condition.reason == "InternalError"
        assert condition.message.startswith(said)
        assert "test_supervision.py:" in condition.message
        assert cluster.ready(Thing, "good")
        assert all(problem is None for problem in cluster.manager.checks().values())
        assert 6 * 4 <= cluster.manager.metrics.reconcile_errors.labels("thing").count <= 6 * 10
    assert [one for one in caplog.records if one.getMessage() == "pass failed" and one.exc_info]


def test_a_pass_that_is_cancelled_at_its_limit_is_not_a_failure_of_the_state() -> None:
    """The framework cancelled it, and the condition says so."""

    async def act(_it: Thing, _out: OutputSet, _ctx: Context) -> Result:
        await asyncio.Event().wait()
        return Done()

    with Harness(Things(act, pass_timeout=timedelta(seconds=5))) as cluster:
        cluster.apply(thing())
        cluster.advance(MINUTE)

        condition = cluster.condition(Thing, "it", "First")
        assert condition is not None
        assert condition.reason == "PassTimeout"


def test_q9_an_exception_outside_a_state_ends_no_worker() -> None:
    """``Controller.create`` is the user's code as well."""

    class Creators(Called):
        def create(self, namespace: str, name: str) -> Thing:
            raise asyncio.CancelledError

    with Harness(Creators()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        (loop,) = cluster.manager.loops
        inner = loop.pool.reconcile

        async def reconcile(turn: Any) -> Any:
            if turn.key.name == "bad":
                await awaits_a_cancelled_task()
            return await inner(turn)

        loop.pool.reconcile = reconcile
        for _ in range(20):
            Called.channel.send("default/bad")
            cluster.advance(MINUTE)
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.advance(MINUTE)

        assert cluster.ready(Thing, "it")


async def returns(*_args: Any, **_kwargs: Any) -> None:
    """Return at once."""


async def ends_by_cancellation(*_args: Any, **_kwargs: Any) -> None:
    """Raise CancelledError, although the task was not cancelled."""
    await awaits_a_cancelled_task()


PARTS = {
    "workers of thing": (controller_loop, "work"),
    "feed of thing": (controller_loop.ControllerLoop, "feed"),
    "channels of thing": (Inbox, "empty"),
    "events of thing": (EventRecorder, "run"),
    "election": (Elector, "run"),
    "reflector Thing.test.myrmidon.dev": (Reflector, "run"),
    "caches": (Caches, "run"),
}


@pytest.mark.parametrize("end", [returns, ends_by_cancellation], ids=["returns", "cancelled"])
@pytest.mark.parametrize("part", PARTS)
def test_q9_the_unexpected_end_of_a_task_is_fatal(
    part: str, end: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """For each task of the manager, the error and readyz name it."""
    owner, name = PARTS[part]
    original = getattr(owner, name)

    async def work(*args: Any, **kwargs: Any) -> None:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(original(*args, **kwargs))
            await breaking.wait()
            task.cancel()
        await end()

    breaking = asyncio.Event()
    monkeypatch.setattr(owner, name, work)
    options = ManagerOptions(seed=0, leader_election=True)
    with Harness(Called(), options=options) as cluster:
        cluster.apply(thing())
        cluster.advance(MINUTE)
        assert cluster.ready(Thing, "it")
        assert all(problem is None for problem in cluster.manager.checks().values())

        breaking.set()
        with pytest.raises(TaskEndedError, match=part):
            cluster.advance(MINUTE)
        top = "caches" if part.startswith("reflector") else part
        assert "has ended" in str(cluster.manager.checks()[f"task {top}"])
    assert [one for one in caplog.records if one.getMessage() == "task ended"]


def test_a_task_may_end_when_it_is_cancelled_or_its_owner_says_so() -> None:
    """Neither is an error."""

    async def main() -> None:
        await lasting("one", returns, may_end=lambda: True)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(lasting("two", asyncio.Event().wait))  # type: ignore[arg-type]
            await asyncio.sleep(1)  # noqa: TID251  of virtual time
            task.cancel()
        assert task.cancelled()

    run(main())


def test_a_manager_that_stops_reports_no_ended_tasks() -> None:
    """Workers that end at the shutdown are not reported."""
    options = ManagerOptions(seed=0, leader_election=True, leader_election_id="myrmidon")
    with Harness(Called(), options=options) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.manager.stop()
        with pytest.raises(MyrmidonError, match="the manager has stopped"):
            cluster.advance(MINUTE)
        assert all(problem is None for problem in cluster.manager.checks().values())
        lease = cluster.require(kinds.LEASE, "myrmidon")
        assert not lease["spec"].get("holderIdentity")
