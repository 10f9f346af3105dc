"""Caches shared by several readers."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from myrmidon.api.kinds import CONFIG_MAP, NAMESPACE
from myrmidon.api.objects import version_of
from myrmidon.api.refs import Kind, ObjectRef
from myrmidon.errors import UsageError
from myrmidon.io.client import Client
from myrmidon.io.watch.caches import Caches
from myrmidon.io.watch.indexes import by_owner
from myrmidon.io.watch.subscriptions import Subscription
from tests.io.fakes import FakeClock, ModelTransport, beside, broken, until
from tests.io.model_server import ModelServer, config_map

REF = ObjectRef(CONFIG_MAP, "a", "ns")
OTHER = ObjectRef(CONFIG_MAP, "b", "ns")


class World:
    """Caches on a model server."""

    def __init__(self) -> None:
        self.server = ModelServer()
        self.transport = ModelTransport(self.server)
        self.clock = FakeClock()
        self.caches = Caches(Client(self.transport, clock=self.clock), clock=self.clock)


def play(check: Callable[[World], Coroutine[Any, Any, None]]) -> World:
    """Run a check beside the caches."""
    world = World()
    world.server.write("a")

    async def main() -> None:
        await beside(world.caches.run(), check(world))

    asyncio.run(main())
    return world


def test_one_list_and_watch_per_scope() -> None:
    """K1: two readers, one request; a kind that nobody declared is never asked for."""

    async def check(world: World) -> None:
        first = world.caches.view(CONFIG_MAP)
        second = world.caches.view(CONFIG_MAP, indexes={"owner": by_owner})
        await world.caches.wait_synced()
        assert first.get("a", "ns") == second.get("a", "ns") is not None
        assert second.refs("owner", "nobody") == []

    assert len(play(check).transport.requests) == 1


def test_the_last_reader_ends_the_watch() -> None:
    """A view that is closed costs nothing any more."""

    async def check(world: World) -> None:
        first, second = world.caches.view(CONFIG_MAP), world.caches.view(CONFIG_MAP)
        await world.caches.wait_synced()
        first.close()
        assert world.transport.streams
        second.close()
        await until(lambda: not world.transport.streams)
        assert world.caches.health() == []
        world.caches.mark_unknown(REF)
        assert not world.caches.is_unknown(REF), "nobody reads it"

    play(check)


def test_every_subscriber_hears_of_own_writes_once() -> None:
    """K3 among controllers: the echo changes nothing, so the write itself must tell everyone."""

    async def check(world: World) -> None:
        view = world.caches.view(CONFIG_MAP)
        first, second = Subscription(), Subscription()
        view.subscribe(first)
        await view.wait_synced()
        view.subscribe(second)
        assert [len(first), len(second)] == [1, 1], "what is there already is told to both"
        world.caches.record_write(OTHER, world.server.write("b"), by="me")
        world.transport.deliver()
        world.server.write("c")
        world.transport.deliver()
        heard = [[await anext(each) for _ in range(3)] for each in (first, second)]
        for changes in heard:
            assert [(c.ref.name, c.source, c.by) for c in changes] == [
                ("a", "list", ""),
                ("b", "write", "me"),
                ("c", "watch", ""),
            ]
        world.caches.record_delete(REF, uid=world.server.objects["a"]["metadata"]["uid"])
        assert (await anext(first)).type == "deleted"
        assert view.get("a", "ns") is None

    play(check)


def test_some_namespaces_are_one_watch_each() -> None:
    """And read as one."""

    async def check(world: World) -> None:
        view = world.caches.view(CONFIG_MAP, namespaces=["ns", "other"])
        await view.wait_synced()
        assert len(world.transport.requests) == 2
        assert view.get("a", "ns") is not None
        assert len(view.list("ns")) == 1
        with pytest.raises(UsageError, match="not watched in the namespace 'third'"):
            view.get("a", "third")

    play(check)


def test_cluster_scoped_kinds_ignore_namespaces() -> None:
    """A manager limited to some namespaces still reads nodes and namespaces."""

    async def check(world: World) -> None:
        view = world.caches.view(NAMESPACE, namespaces=["ns"])
        await view.wait_synced()
        assert world.transport.requests[0].path == "/api/v1/namespaces"
        assert view.get("missing", "ns") is None

    play(check)


def test_an_own_write_is_shown_in_its_namespace() -> None:
    """A cache of another namespace, or another group, neither shows it nor waits for it."""
    beta = Kind("", "v1beta1", "ConfigMap", "configmaps")
    namesake = Kind("other.dev", "v1", "ConfigMap", "configmaps")

    async def check(world: World) -> None:
        view = world.caches.view(CONFIG_MAP, namespaces=["ns"])
        world.caches.view(beta, namespaces=["other"])
        world.caches.view(namesake)
        await world.caches.wait_synced()
        world.caches.record_write(OTHER, world.server.write("b"))
        assert view.get("b", "ns") is not None
        assert not world.caches.is_behind(OTHER)

    play(check)


def test_another_version_of_the_kind_waits_for_its_watch() -> None:
    """What was written in one version cannot be shown in another; but we know that it is old."""
    beta = Kind("", "v1beta1", "ConfigMap", "configmaps")

    async def check(world: World) -> None:
        world.caches.view(beta)
        await world.caches.wait_synced()
        assert not world.caches.is_behind(REF)
        world.caches.record_write(REF, world.server.write("a"))
        assert world.caches.is_behind(REF)
        world.transport.deliver()
        await until(lambda: not world.caches.is_behind(REF))

    play(check)


def test_unclear_writes_stay_unclear_until_something_is_recorded() -> None:
    """A9, F09: neither outcome is assumed, and no event of the watch tells which it was."""

    async def check(world: World) -> None:
        caches, view = world.caches, world.caches.view(CONFIG_MAP)
        await caches.wait_synced()
        caches.mark_unknown(REF)
        version = version_of(world.server.write("a"))
        world.transport.deliver()
        await until(lambda: version_of(view.get("a", "ns") or {}) == version)
        assert caches.is_unknown(REF)
        assert not caches.is_unknown(OTHER)
        caches.record_write(REF, config_map("a", "a-11", 11))
        assert not caches.is_unknown(REF)
        caches.mark_unknown(REF)
        caches.record_delete(REF, uid="a-11")
        assert not caches.is_unknown(REF)
        caches.mark_unknown(REF)
        caches.clear_unknown(REF)
        assert not caches.is_unknown(REF)

    play(check)


def test_unclear_writes_are_unclear_in_every_version_of_the_kind() -> None:
    """The answer in one version is not to be seen in another; a live read settles both."""
    beta = Kind("", "v1beta1", "ConfigMap", "configmaps")
    same = ObjectRef(beta, "a", "ns")

    async def check(world: World) -> None:
        caches = world.caches
        caches.view(CONFIG_MAP)
        caches.view(beta)
        await caches.wait_synced()
        caches.mark_unknown(REF)
        assert caches.is_unknown(same)
        caches.record_write(REF, config_map("a", "a-11", 11))
        assert [caches.is_unknown(ref) for ref in (REF, same)] == [False, True]
        caches.clear_unknown(REF)
        assert not caches.is_unknown(same)

    play(check)


def test_a_write_that_answers_otherwise_is_awaited_from_the_watch() -> None:
    """Scale, eviction: the answer has a version and not the object."""

    async def check(world: World) -> None:
        world.caches.view(CONFIG_MAP)
        await world.caches.wait_synced()
        world.caches.expect(REF, "1000")
        assert world.caches.is_behind(REF)

    play(check)


def test_health_names_the_fault() -> None:
    """Readyz fails with a reason."""

    async def check(world: World) -> None:
        world.caches.view(CONFIG_MAP)
        await world.caches.wait_synced()
        world.transport.faults = [broken()] * 1000
        world.transport.end_streams(broken())
        await until(lambda: world.caches.health()[0].fault is not None)
        health = world.caches.health()[0]
        assert health.is_synced
        assert health.objects == 1
        assert "reset" in str(health.fault)

    play(check)
