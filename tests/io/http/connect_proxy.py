"""A proxy that supports only CONNECT: TLS goes through it untouched."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class ConnectProxy:
    """Records its requests; may require a password, or refuse."""

    def __init__(self, *, refuses: str = "", tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls  # for the connection to the proxy itself
        self.refuses = refuses  # the status line of its response
        self.asked: list[str] = []
        self.logins: list[str] = []
        self.url = ""
        self._writers: list[asyncio.StreamWriter] = []

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["ConnectProxy"]:
        """Serve for a while."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        scheme = "http" if self._tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            self.cut()
            await server.wait_closed()

    def cut(self) -> None:
        """Close all connections through it."""
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        try:
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
            if self.refuses == "in silence":
                return
            method, target, _ = first.split(" ")
            self.asked.append(f"{method} {target}")
            headers = dict(line.lower().split(": ", 1) for line in lines if line)
            self.logins.append(headers.get("proxy-authorization", ""))
            if self.refuses:
                writer.write(f"HTTP/1.1 {self.refuses}\r\ncontent-length: 0\r\n\r\n".encode())
                await writer.drain()
                return
            host, _, port = target.rpartition(":")
            source, sink = await asyncio.open_connection(host, int(port))
            self._writers.append(sink)
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            async with asyncio.TaskGroup() as group:
                group.create_task(_pump(reader, sink))
                group.create_task(_pump(source, writer))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(1 << 16):
            sink.write(data)
            await sink.drain()
    except ConnectionError:
        pass
    sink.close()
