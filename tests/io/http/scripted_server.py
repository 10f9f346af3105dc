"""A server that sends the bytes of a test, in any pieces, and a pool of connections to it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from myrmidon.api.requests.transport import HttpResponse
from myrmidon.io.access.addresses import Address
from myrmidon.io.http.pool import Limits, Pool

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Peer(NamedTuple):
    """One connection on the server's side; the first is number 1."""

    number: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def request(self) -> bytes:
        """Read the head of one request; a caller that expects a body reads that itself."""
        return await self.reader.readuntil(b"\r\n\r\n")


Speaking = Callable[[Peer], Awaitable[None]]


@asynccontextmanager
async def pool_to(speaking: Speaking, **options: Any) -> AsyncIterator[Pool]:
    """Return a pool of connections to a server that runs this function on each, from 1 on."""
    count = 0
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        writers.append(writer)
        try:
            await speaking(Peer(count, reader, writer))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    limits = {"connections_max": 10, "connect_seconds": 5.0, "keepalive_seconds": 30.0, **options}
    pool = Pool(Address(host, port), Limits(**limits))
    try:
        yield pool
    finally:
        pool.close()
        server.close()
        for writer in writers:
            writer.transport.abort()
        await server.wait_closed()


async def send(pool: Pool, method: str = "GET", target: str = "/") -> HttpResponse:
    """Send a request without a body."""
    return await pool.send(method, target, (), b"")


def play(speaking: Speaking, check: Callable[[Pool], Awaitable[None]], **options: Any) -> None:
    """Run a check on a pool to the server."""

    async def main() -> None:
        async with pool_to(speaking, **options) as pool:
            await check(pool)

    asyncio.run(main())
