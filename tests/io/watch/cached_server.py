"""Caches on a model server, for tests of what the readers of caches see."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from myrmidon.io.client import Client
from myrmidon.io.watch.caches import Caches
from myrmidon.io.writes.own_writes import OwnWrites
from tests.io.fakes import FakeClock, ModelTransport, beside
from tests.io.model_server import ModelServer


class CachedServer:
    """A model server, the caches that watch it, and the own writes of a controller."""

    def __init__(self) -> None:
        self.server = ModelServer()
        self.transport = ModelTransport(self.server)
        self.clock = FakeClock()
        self.caches = Caches(Client(self.transport, clock=self.clock), clock=self.clock)
        self.writes: OwnWrites[Any] = OwnWrites("thing", self.caches)


def play(check: Callable[[CachedServer], Coroutine[Any, Any, None]]) -> CachedServer:
    """Run a check beside the caches, with one object on the server."""
    cached = CachedServer()
    cached.server.write("a")

    async def main() -> None:
        await beside(cached.caches.run(), check(cached))

    asyncio.run(main())
    return cached
