"""The loop that keeps a cache up to date: each fault of a watch, and its recovery."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from myrmidon.api.objects.kinds import CONFIG_MAP
from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream
from myrmidon.io.client import Client
from myrmidon.io.timers.clock import LoopClock
from myrmidon.io.watch.cache import Cache
from myrmidon.io.watch.changes import Change, uid_in, version_in
from myrmidon.io.watch.protocol import Timing
from myrmidon.io.watch.reflector import Reflector
from myrmidon.testing.harness.clock import run
from tests.io.fakes import FakeClock, ModelTransport, beside, broken, until
from tests.io.model_server import ModelServer, expired, refusal


class World:
    """A reflector on a model server."""

    def __init__(self, *, streaming: bool = False, offers_streaming: bool = True) -> None:
        self.server = ModelServer()
        self.transport = ModelTransport(self.server, offers_streaming=offers_streaming)
        self.clock = FakeClock()
        self.changes: list[Change] = []
        self.cache = Cache(CONFIG_MAP)
        self.reflector = Reflector(
            Client(self.transport, clock=self.clock),
            self.cache,
            clock=self.clock,
            jitter=lambda: 0.5,
            sink=self.changes.extend,
            streaming=streaming,
            page_size=2,
        )

    def is_true(self) -> bool:
        """Whether the cache equals the server."""
        entries = {key[1]: self.cache.entry(key) for key in self.cache.keys()}  # noqa: SIM118
        held = {n: (uid_in(e), str(version_in(e))) for n, e in entries.items() if e}
        return self.reflector.is_synced and held == self.server.visible()

    def lists(self) -> int:
        """Return how many lists were begun."""
        return sum(
            "watch" not in dict(r.query) and "continue" not in dict(r.query)
            for r in self.transport.requests
        )


def play(world: World, check: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    """Run a check beside the reflector."""

    async def main() -> None:
        await beside(world.reflector.run(), check(world))

    asyncio.run(main())


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("offered", [False, True])
def test_first_sync_shows_everything_once(streaming: bool, offered: bool) -> None:
    """With pages or streaming, offered or not: each object is one change."""
    world = World(streaming=streaming, offers_streaming=offered)
    for name in "abcde":
        world.server.write(name)

    async def check(world: World) -> None:
        await world.reflector.wait_synced()
        assert world.is_true()
        assert [change.ref.name for change in world.changes] == list("abcde")
        assert {change.type for change in world.changes} == {"added"}

    play(world, check)


def test_lists_are_consistent_reads() -> None:
    """No list carries a resourceVersion, because any replica may answer "0"."""
    world = World()
    world.server.write("a")

    async def check(world: World) -> None:
        await world.reflector.wait_synced()
        world.server.compact()
        world.server.write("b")
        world.server.compact()
        world.transport.end_streams()
        await until(lambda: world.lists() == 2 and world.is_true())

    play(world, check)
    for request in world.transport.requests:
        query = dict(request.query)
        assert "watch" in query or "resourceVersion" not in query


def test_a_watch_that_ends_is_resumed_without_a_list() -> None:
    """F01: it resumes from the last version seen, and subscribers see no change."""
    world = World()

    async def check(world: World) -> None:
        await until(lambda: bool(world.transport.streams))
        for name in "abc":
            world.server.write(name)
            world.transport.deliver()
            await until(world.is_true)
            world.transport.end_streams()
            await until(lambda: not world.transport.streams)
            await until(lambda: bool(world.transport.streams))

    play(world, check)
    assert world.lists() == 1
    assert len(world.changes) == 3


@pytest.mark.parametrize("fault", [401, 403, 404, 429, 500, 503, "broken"])
def test_cached_objects_stay_while_the_server_refuses(fault: Any) -> None:
    """F08, F30: a refusal does not mean that there are no objects."""
    world = World()
    world.server.write("a")

    async def check(world: World) -> None:
        await until(lambda: bool(world.transport.streams))
        error = broken() if fault == "broken" else refusal(fault)
        world.transport.faults = [error] * 4
        world.transport.end_streams(broken())
        await until(lambda: not world.transport.faults)
        assert len(world.cache) == 1
        world.server.write("b")
        await until(world.is_true)
        assert world.reflector.fault is None

    play(world, check)
    assert {change.type for change in world.changes} == {"added"}
    assert world.clock.slept == sorted(world.clock.slept), "it waits longer each time"


def test_missed_deletions_are_noticed_by_the_next_list() -> None:
    """F02: after a 410, an object that the list lacks is a deletion."""
    world = World()
    for name in "abcd":
        world.server.write(name)

    async def check(world: World) -> None:
        await until(lambda: bool(world.transport.streams))
        world.changes.clear()
        world.server.delete("b")
        world.server.write("d")
        world.server.write("e")
        world.server.compact()
        world.transport.end_streams()
        await until(world.is_true)

    play(world, check)
    seen = {change.ref.name: change.type for change in world.changes}
    assert seen == {"b": "deleted", "d": "modified", "e": "added"}


def test_half_a_line_is_not_an_object() -> None:
    """F11: the stream is opened again, and the whole object arrives once."""
    world = World()

    async def check(world: World) -> None:
        await until(lambda: bool(world.transport.streams))
        world.server.write("a")
        world.transport.streams[0].queue.put_nowait(b'{"type":"ADDED","object":{"metada')
        await until(world.is_true)

    play(world, check)
    assert len(world.changes) == 1


def test_silent_watch_is_opened_again() -> None:
    """F06: an event that a dead connection lost arrives on the next one."""
    world = World()

    async def check(world: World) -> None:
        await until(lambda: bool(world.transport.streams))
        world.server.write("a")  # and the stream does not report it
        await asyncio.sleep(Timing().idle_seconds + 1)  # noqa: TID251  virtual time
        assert world.is_true()

    async def main() -> None:
        await beside(world.reflector.run(), check(world))

    run(main())


class Storage:
    """A server whose storage can hang: watches can be opened, reads do not end."""

    def __init__(self, server: ModelTransport) -> None:
        self._server = server
        self.works = asyncio.Event()
        self.works.set()

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Respond when the storage does."""
        await self.works.wait()
        return await self._server.send(request, deadline=deadline)

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[ResponseStream]:
        """Open a watch."""
        return self._server.stream(request)

    async def close(self) -> None:
        """Nothing to close."""


def test_a_quiet_kind_is_fresh_and_one_whose_storage_hangs_is_not() -> None:
    """K4: an opened watch proves nothing; a completed read does."""
    server = ModelServer()
    transport = ModelTransport(server)
    clock = LoopClock()
    limit = Timing().idle_seconds + Timing().ask_seconds

    async def worst(reflector: Reflector, seconds: int) -> float:
        staleness = 0.0
        for _ in range(seconds):
            await clock.sleep(1)
            staleness = max(staleness, reflector.staleness())
        return staleness

    async def main() -> None:
        storage, changes = Storage(transport), list[Change]()
        reflector = Reflector(
            Client(storage, clock=clock),
            Cache(CONFIG_MAP),
            clock=clock,
            jitter=lambda: 0.5,
            sink=changes.extend,
            streaming=False,
        )

        async def check() -> None:
            assert await worst(reflector, 3600) <= limit
            assert reflector.fault is None
            storage.works.clear()
            assert await worst(reflector, 600) >= 600
            assert "no answer in 10 s" in str(reflector.fault)
            storage.works.set()
            await clock.sleep(Timing().backoff_seconds_max + Timing().ask_seconds)
            assert await worst(reflector, 3600) <= limit
            assert changes == []
            server.write("a")
            transport.deliver()
            await clock.sleep(1)
            assert len(changes) == 1

        await beside(reflector.run(), check())

    run(main())
    assert len([one for one in transport.requests if ("limit", "500") in one.query]) == 1


def test_watches_that_end_at_once_lead_to_a_list() -> None:
    """kubernetes/kubernetes#137089: 200 and closed, for ever, until the client lists."""
    world = World()

    async def check(world: World) -> None:
        for _ in range(3):
            await until(lambda: bool(world.transport.streams))
            world.transport.end_streams()
            await until(lambda: not world.transport.streams)
        await until(lambda: world.lists() == 2)

    play(world, check)
    assert len(world.clock.slept) >= 3


def test_an_expired_continue_token_leads_to_an_unpaged_list() -> None:
    """F27: never pages of two versions."""
    world = World()
    world.transport.faults = [None, expired()]
    for name in "abcde":
        world.server.write(name)

    async def check(world: World) -> None:
        await until(world.is_true)

    play(world, check)
    lists = [dict(r.query) for r in world.transport.requests if "watch" not in dict(r.query)]
    assert [sorted(query) for query in lists] == [["limit"], ["continue", "limit"], []]


def test_staleness_is_infinite_before_the_first_response() -> None:
    """Readiness must not take "never read" for "just read"."""
    world = World()
    assert world.reflector.staleness() == float("inf")

    async def check(world: World) -> None:
        await world.reflector.wait_synced()
        world.clock.seconds += 7
        assert 7 <= world.reflector.staleness() < 8

    play(world, check)
