"""A TCP proxy between one replica and the API server, which misbehaves on request.

TLS passes through untouched.  A connection that a replica resets is not served any further: bytes
that the proxy still holds are dropped, as they are in a network when the reset overtakes them.
Bytes of a connection that was closed in good order are delivered, however late.
"""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Callable
from typing import Self

from tests.soak.pace import pause

_CHUNK_BYTES = 1 << 14
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: on, for 0 seconds; closing then resets


class Link:
    """One connection: a pair of streams to the replica and to the server."""

    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.client, self.server = client, server
        self.is_half_closed = False
        self.flows = asyncio.Event()
        self.flows.set()

    def close(self) -> None:
        """Close it in order."""
        for side in (self.client, self.server):
            side.close()
        self.flows.set()

    def half_close(self) -> None:
        """Tell the replica that the server has said everything; what it still says is dropped."""
        self.is_half_closed = True
        with contextlib.suppress(OSError):
            self.client.write_eof()

    def reset(self) -> None:
        """Reset it on both sides."""
        for side in (self.client, self.server):
            reset(side)
        self.flows.set()


class Proxy:
    """Listens on a port of its own and passes everything on to the API server."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._links: dict[Link, None] = {}
        self._delay = 0.0
        self._refuses = self._stalls_new = False
        self.port = 0

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[Self]:
        """Serve while the block runs."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self._refuses = True
            self.reset()
            for _ in range(40):  # the tasks of the connections end by themselves
                if not self._links:
                    break
                await pause(0.05)

    # ------------------------------------------------------------------- faults: links concerned

    def cut(self) -> int:
        """Close every connection in order."""
        return self._each(Link.close)

    def reset(self) -> int:
        """Reset every connection."""
        return self._each(Link.reset)

    def half_close(self) -> int:
        """End the server's side of every connection, and keep reading from the replica."""
        return self._each(Link.half_close)

    async def stall(self, seconds: float, *, new: bool) -> int:
        """Deliver nothing on any connection for so long, with ``new`` on new ones, too."""
        self._stalls_new = new
        links = list(self._links)
        for link in links:
            link.flows.clear()
        await pause(seconds)
        self._stalls_new = False
        for link in self._links:
            link.flows.set()
        return len(links)

    async def delay(self, seconds: float, duration: float) -> int:
        """Deliver everything late for a while."""
        self._delay = seconds
        await pause(duration)
        self._delay = 0.0
        return len(self._links)

    async def refuse(self, seconds: float) -> int:
        """Reset every connection, and new ones at once, for so long."""
        self._refuses = True
        number = self.reset()
        await pause(seconds)
        self._refuses = False
        return number

    # ------------------------------------------------------------------------------- inside

    def _each(self, act: Callable[[Link], None]) -> int:
        links = list(self._links)
        for link in links:
            act(link)
        return len(links)

    async def _serve(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        try:
            if self._refuses:
                raise ConnectionRefusedError
            far, server = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            reset(client)
            return
        link = Link(client, server)
        if self._stalls_new:
            link.flows.clear()
        self._links[link] = None
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(link, reader, server))
                group.create_task(self._pump(link, far, client))
        except* (OSError, asyncio.IncompleteReadError):
            link.reset()
        finally:
            self._links.pop(link, None)
            link.close()

    async def _pump(
        self, link: Link, source: asyncio.StreamReader, sink: asyncio.StreamWriter
    ) -> None:
        """Pass bytes on; a reset of either side raises and ends both directions."""
        while data := await source.read(_CHUNK_BYTES):
            if self._delay:
                await pause(self._delay)
            await link.flows.wait()
            if source.exception() is not None:
                raise ConnectionResetError
            if sink is link.client and link.is_half_closed:
                continue
            sink.write(data)
            await sink.drain()
        await link.flows.wait()
        with contextlib.suppress(OSError):
            sink.write_eof()


def reset(side: asyncio.StreamWriter) -> None:
    """Reset one side instead of closing it in order."""
    sock: socket.socket | None = side.get_extra_info("socket")
    if sock is not None and sock.fileno() >= 0:
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    side.transport.abort()
