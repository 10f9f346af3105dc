"""Q8: the event loop runs during lists of any length. Work moves the clock in virtual time."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from myrmidon.api.objects.kinds import CONFIG_MAP
from myrmidon.io.client import Client
from myrmidon.io.lists.scope import Scope
from myrmidon.io.timers.clock import LoopClock
from myrmidon.io.watch.cache import Cache
from myrmidon.io.watch.caches import Caches
from myrmidon.io.watch.changes import Change
from myrmidon.io.watch.subscriptions import Subscription
from myrmidon.io.writes.own_writes import OwnWrites
from myrmidon.testing import VirtualTimeLoop, run
from tests.io.fakes import until
from tests.io.model_server import config_map
from tests.io.timers.test_pacing import TurnMeter
from tests.io.watch.poison import END, Bytes, added, list_of

OBJECTS = 5000
STEP = 0.0002
GONE = b'{"type":"ERROR","object":{"kind":"Status","code":410}}'


def objects(count: int, version: int = 10) -> list[bytes]:
    """Build so many objects."""
    return [
        orjson.dumps(config_map(f"cm-{number:05}", f"u-{number}", version + number))
        for number in range(count)
    ]


def working(function: Callable[..., Any], spent: list[int]) -> Callable[..., Any]:
    """Return the function, which takes time from now on."""

    def work(*args: Any, **options: Any) -> Any:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        loop.jump(STEP)
        spent[0] += 1
        return function(*args, **options)

    return work


@pytest.mark.parametrize("way", ["pages", "stream"])
def test_q8_a_long_list_is_handled_in_many_turns(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first list, a change of all objects, and a later list that lacks half of them."""
    spent = [0]
    monkeypatch.setattr(Cache, "_put", working(Cache._put, spent))
    monkeypatch.setattr(Cache, "_remove", working(Cache._remove, spent))
    first = objects(OBJECTS)
    second = [*first[::2]]
    streaming = way == "stream"
    transport = Bytes(list_of(*first), list_of(*second, version="90000"), streaming=streaming)
    transport.lines = [*map(added, first), END.replace(b'"1000"', b'"80000"')] if streaming else []

    async def main() -> tuple[TurnMeter, int]:
        caches = Caches(Client(transport, clock=LoopClock()), streaming=streaming)
        view, heard = caches.view(CONFIG_MAP), Subscription()
        view.subscribe(heard)
        meter, count = TurnMeter(), 0
        take = working(lambda: None, spent)

        async def read(wanted: int) -> None:
            nonlocal count
            while count < wanted:
                await anext(heard)
                take()
                count += 1

        async with asyncio.TaskGroup() as group:
            task = group.create_task(caches.run())
            await read(OBJECTS)
            transport.lines = [*map(added, second), END.replace(b'"1000"', b'"90000"')]
            transport.queue.put_nowait(GONE)
            await read(OBJECTS + OBJECTS // 2)
            task.cancel()
        meter.stop()
        return meter, count

    meter, count = run(main())
    assert count == OBJECTS + OBJECTS // 2
    assert spent[0] > 3 * OBJECTS
    assert meter.longest < 0.050


def test_q8_the_scanner_yields(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for a list that has to be parsed item by item."""
    body = list_of(*objects(2000), b'{"metadata":{"name":"odd"},"spec":NaN}')

    async def main() -> tuple[TurnMeter, int]:
        meter = TurnMeter()
        found = await Client(Bytes(body)).list(CONFIG_MAP, "ns")
        meter.stop()
        return meter, len(found)

    meter, count = run(main())
    assert count == 2000
    assert meter.turns > 10


def test_a_reader_of_a_long_list_keeps_up() -> None:
    """Q12: listed objects are delivered while the list is read, not all at its end."""
    transport = Bytes(list_of(*objects(OBJECTS)))
    most = 0

    async def main() -> None:
        nonlocal most
        caches = Caches(Client(transport, clock=LoopClock()), streaming=False)
        view, heard = caches.view(CONFIG_MAP), Subscription()
        view.subscribe(heard)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(caches.run())
            for _ in range(OBJECTS):
                await anext(heard)
                most = max(most, len(heard))
            task.cancel()

    run(main())
    assert most < 500


def test_changes_and_own_writes_are_delivered_in_the_order_of_the_cache() -> None:
    """K3: an own write in the middle of a list comes after the objects listed before it."""
    transport = Bytes(list_of(*objects(1000)))
    cache: dict[str, bytes | None] = {}

    async def main() -> None:
        caches = Caches(Client(transport, clock=LoopClock()), streaming=False)
        writes: OwnWrites[Any] = OwnWrites("", caches)
        view, heard = caches.view(CONFIG_MAP), Subscription()
        view.subscribe(heard)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(caches.run())
            await until(lambda: 0 < len(view) < 1000)
            assert not view.is_synced
            for number in (0, 500, 999):  # one that is perhaps listed already, and one that is not
                obj = config_map(f"cm-{number:05}", f"u-{number}", 90_000 + number)
                writes.record_write(CONFIG_MAP, obj)
            await view.wait_synced()
            while len(heard):
                change: Change = await anext(heard)
                assert change.old == cache.get(change.ref.name)
                cache[change.ref.name] = change.new
            task.cancel()
        for number in (0, 500, 999):
            found = view.get(f"cm-{number:05}", "ns")
            assert found is not None
            assert found["metadata"]["resourceVersion"] == str(90_000 + number)

    run(main())
    assert len(cache) == 1000


def test_a_late_subscriber_gets_the_objects_that_existed_when_it_came() -> None:
    """Sorted, and then the changes, which are built when they are read."""
    caches = Caches(Client(Bytes(list_of())))
    view, heard = caches.view(CONFIG_MAP), Subscription()
    cache = caches._shared[Scope(CONFIG_MAP), None].cache
    for name in ("b", "a"):
        cache.record_write(config_map(name, f"{name}-u", 5))
    view.subscribe(heard)
    OwnWrites[Any]("", caches).record_write(CONFIG_MAP, config_map("a", "a-u", 6, "new"))

    async def main() -> list[tuple[str, str, str]]:
        found = []
        while len(heard):
            change = await anext(heard)
            found.append((change.ref.name, change.type, change.version))
        return found

    assert len(heard) == 3
    assert run(main()) == [("a", "added", "5"), ("b", "added", "5"), ("a", "modified", "6")]


def test_q8_a_reader_with_a_backlog_yields() -> None:
    """Changes that are queued already are read over many turns, too."""
    caches = Caches(Client(Bytes(list_of())))
    view, heard = caches.view(CONFIG_MAP), Subscription()
    cache = caches._shared[Scope(CONFIG_MAP), None].cache
    for number in range(OBJECTS):
        cache.record_write(config_map(f"cm-{number}", f"u-{number}", 5))
    view.subscribe(heard)
    take = working(lambda: None, [0])

    async def main() -> TurnMeter:
        meter = TurnMeter()
        while len(heard):
            await anext(heard)
            take()
        meter.stop()
        return meter

    meter = run(main())
    assert meter.longest < 0.050
    assert meter.turns > OBJECTS * STEP / 0.050
