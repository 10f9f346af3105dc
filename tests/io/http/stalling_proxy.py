"""A TCP proxy that can stop reading from its client, and resume.

While it is stalled, what the client sends fills the proxy's small receive buffer and then waits in
the client's own kernel, as it does behind a slow network.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator


class StallingProxy:
    """Passes one connection on to ``127.0.0.1:target``."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._flowing = asyncio.Event()
        self._flowing.set()
        self.ended = asyncio.Event()  # the client's end of stream has been passed on
        self.error: Exception | None = None  # how the client's side ended
        self.port = 0

    def stall(self) -> None:
        """Stop reading from the client."""
        self._flowing.clear()

    def flow(self) -> None:
        """Resume reading."""
        self._flowing.set()

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator["StallingProxy"]:
        """Serve for a while."""
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            listener.setblocking(False)
            self.port = listener.getsockname()[1]
            async with asyncio.TaskGroup() as group:
                task = group.create_task(self._serve(listener))
                yield self
                task.cancel()

    async def _serve(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        client, _ = await loop.sock_accept(listener)
        with client, socket.socket() as server:
            client.setblocking(False)
            server.setblocking(False)
            await loop.sock_connect(server, ("127.0.0.1", self._target))
            async with asyncio.TaskGroup() as group:
                back = group.create_task(self._pass_back(server, client))
                await self._pass_on(client, server)
                back.cancel()

    async def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        try:
            while True:
                await self._flowing.wait()
                data = await loop.sock_recv(client, 1 << 12)
                if not data:
                    break
                await self._flowing.wait()
                await loop.sock_sendall(server, data)
        except ConnectionError as error:
            self.error = error
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_WR)
        self.ended.set()

    async def _pass_back(self, server: socket.socket, client: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(ConnectionError):
            while data := await loop.sock_recv(server, 1 << 16):
                await loop.sock_sendall(client, data)
