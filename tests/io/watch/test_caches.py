"""Caches that several readers share."""

import pytest

from myrmidon.api.objects.kinds import CONFIG_MAP, NAMESPACE
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import UsageError
from myrmidon.io.watch.indexes import by_owner
from tests.io.fakes import broken, until
from tests.io.watch.cached_server import CachedServer, play

REF = ObjectRef(CONFIG_MAP, "a", "ns")


def test_one_list_and_watch_per_scope() -> None:
    """K1: two readers cause one list and watch; a kind without a reader causes none."""

    async def check(cached: CachedServer) -> None:
        first = cached.caches.view(CONFIG_MAP)
        second = cached.caches.view(CONFIG_MAP, indexes={"owner": by_owner})
        await cached.caches.wait_synced()
        assert first.get("a", "ns") == second.get("a", "ns") is not None
        assert second.refs("owner", "unknown") == []

    assert len(play(check).transport.requests) == 1


def test_the_last_reader_ends_the_watch() -> None:
    """The watch ends when the last view of its scope is closed, and not before."""

    async def check(cached: CachedServer) -> None:
        first, second = cached.caches.view(CONFIG_MAP), cached.caches.view(CONFIG_MAP)
        await cached.caches.wait_synced()
        first.close()
        assert cached.transport.streams
        second.close()
        await until(lambda: not cached.transport.streams)
        assert cached.caches.health() == []
        assert not cached.caches.holding(REF)

    play(check)


def test_some_namespaces_are_one_watch_each() -> None:
    """Each namespace has a watch of its own, and the view reads all of them."""

    async def check(cached: CachedServer) -> None:
        view = cached.caches.view(CONFIG_MAP, namespaces=["ns", "other"])
        await view.wait_synced()
        assert len(cached.transport.requests) == 2
        assert view.get("a", "ns") is not None
        assert len(view.list("ns")) == 1
        with pytest.raises(UsageError, match="not watched in the namespace 'third'"):
            view.get("a", "third")

    play(check)


def test_cluster_scoped_kinds_ignore_namespaces() -> None:
    """A manager limited to some namespaces still reads nodes and namespaces."""

    async def check(cached: CachedServer) -> None:
        view = cached.caches.view(NAMESPACE, namespaces=["ns"])
        await view.wait_synced()
        assert cached.transport.requests[0].path == "/api/v1/namespaces"
        assert view.get("missing", "ns") is None

    play(check)


def test_health_names_the_fault() -> None:
    """Readyz fails with a reason."""

    async def check(cached: CachedServer) -> None:
        cached.caches.view(CONFIG_MAP)
        await cached.caches.wait_synced()
        cached.transport.faults = [broken()] * 1000
        cached.transport.end_streams(broken())
        await until(lambda: cached.caches.health()[0].fault is not None)
        health = cached.caches.health()[0]
        assert health.is_synced
        assert health.objects == 1
        assert "reset" in str(health.fault)

    play(check)
