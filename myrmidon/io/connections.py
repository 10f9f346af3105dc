"""A pool of HTTP/1.1 connections to one server, for requests whose answer is short.

A controller lives on small writes, and most of what a full HTTP client does for one of them is
comfort.  Here a request is one piece of bytes and its answer one future; httptools, the parser of
Node.js, reads it.  What a write costs this way and through aiohttp: ``benchmarks/transport.py``.

Every failure says whether the request can have been sent (``AmbiguousError``) or not
(``UnreachableError``): the next decision depends on it.
"""

import asyncio
import errno
import ssl
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple, Self, cast
from urllib.parse import urlsplit

from httptools import HttpParserError, HttpResponseParser

from myrmidon.api.wire import HttpResponse
from myrmidon.errors import AmbiguousError, UnreachableError, UsageError
from myrmidon.io.reasons import why

_ENDED_BY = frozenset({"content-length", "transfer-encoding"})


class Address(NamedTuple):
    """Where a pool connects to."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    server_name: str = ""

    @classmethod
    def of(cls, origin: str, tls: ssl.SSLContext | None, server_name: str = "") -> Self:
        """The address of ``https://host:port``."""
        place = urlsplit(origin)
        port = place.port or (443 if place.scheme == "https" else 80)
        return cls(place.hostname or "", port, tls, server_name)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Pool:
    """At most ``connections_max`` connections; one that was idle for too long is not used again."""

    def __init__(
        self,
        address: Address,
        *,
        connections_max: int,
        connect_seconds: float,
        keepalive_seconds: float,
    ) -> None:
        self.address, self._host = address, str(address)
        self._slots = asyncio.Semaphore(connections_max)
        self._connect_seconds, self._keepalive_seconds = connect_seconds, keepalive_seconds
        self._idle: list[tuple[float, Connection]] = []  # the one that was used last comes last
        self._closed = False

    async def send(
        self, method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes
    ) -> HttpResponse:
        """Send a request and wait for its whole answer."""
        message = _message(method, target, (("host", self._host), *headers), body)
        async with self._slots:
            idle = self._take()
            if idle is None or method != "GET":
                return await self._exchange(idle or await self._connect(), message)
            try:
                return await self._exchange(idle, message)
            except AmbiguousError:  # the server may just have closed it, and a read can be repeated
                return await self._exchange(await self._connect(), message)

    def close(self) -> None:
        """Close what is idle; what is in use closes when its answer is there."""
        self._closed = True
        for _, connection in self._idle:
            connection.abort()
        self._idle = []

    async def _exchange(self, connection: "Connection", message: bytes) -> HttpResponse:
        try:
            answer = await connection.exchange(message)
        except BaseException:
            connection.abort()  # nobody knows where in an answer it stands
            raise
        self._put_back(connection)
        return answer

    def _take(self) -> "Connection | None":
        oldest = asyncio.get_running_loop().time() - self._keepalive_seconds
        while self._idle:
            since, connection = self._idle.pop()
            if connection.is_reusable and since >= oldest:
                return connection
            connection.abort()
        return None

    def _put_back(self, connection: "Connection") -> None:
        now = asyncio.get_running_loop().time()
        if self._closed or not connection.is_reusable:
            connection.abort()
            return
        self._idle.append((now, connection))
        if self._idle[0][0] < now - self._keepalive_seconds:
            self._idle.pop(0)[1].abort()

    async def _connect(self) -> "Connection":
        connection = Connection()
        try:
            async with asyncio.timeout(self._connect_seconds):
                await self._open(connection)
        except TimeoutError as error:
            connection.abort()
            said = f"{self.address}: no connection in {self._connect_seconds:g} s"
            raise UnreachableError(said) from error
        except OSError as error:
            connection.abort()
            raise UnreachableError(f"{self.address}: {why(error)}") from error
        except BaseException:
            connection.abort()
            raise
        return connection

    async def _open(self, connection: "Connection") -> None:
        """TCP, then TLS.  In one step, whoever gives up in the middle leaves a socket behind."""
        host, port, tls, server_name = self.address
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(lambda: connection, host, port)
        if tls is not None:
            secured = await loop.start_tls(
                transport, connection, tls, server_hostname=server_name or host
            )
            if secured is None:
                raise ConnectionResetError(errno.ECONNRESET, "closed in the handshake")
            connection.connection_made(secured)


class Connection(asyncio.Protocol):
    """One connection: one request at a time, then its answer."""

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[HttpResponse] | None = None
        self._headers: list[tuple[str, str]] = []
        self._body: list[bytes] = []
        self._has_begun = False  # the headers of an answer are there
        self.is_reusable = True

    async def exchange(self, message: bytes) -> HttpResponse:
        """Write a request, wait for the answer."""
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(message)
        try:
            return await self._answer
        finally:
            self._answer = None

    def abort(self) -> None:
        """Drop the connection, without a TLS goodbye: it would wait up to 30 s for the server's.

        Nothing is lost by it: what was asked for is answered, or nobody wants the answer.
        """
        self.is_reusable = False
        if self._transport is not None:
            self._transport.abort()

    # ------------------------------------------------------------- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:  # noqa: D102
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:  # noqa: D102
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            self._fail(f"the answer is no HTTP: {error}")
            self.abort()

    def connection_lost(self, error: Exception | None) -> None:  # noqa: D102
        self.is_reusable = False
        self._transport = None
        if error is None and self._has_begun and self._ends_with_connection():
            self.on_message_complete()
        else:
            self._fail(why(error) if error else "the server closed the connection")

    # --------------------------------------------------------------- called by the parser

    def on_message_begin(self) -> None:  # noqa: D102
        self._headers, self._body, self._has_begun = [], [], False

    def on_header(self, name: bytes, value: bytes) -> None:  # noqa: D102
        self._headers.append((_header_name(name), value.decode("latin-1")))

    def on_headers_complete(self) -> None:  # noqa: D102
        self._has_begun = True

    def on_body(self, data: bytes) -> None:  # noqa: D102
        self._body.append(data)

    def on_message_complete(self) -> None:  # noqa: D102
        status = self._parser.get_status_code()
        if status < 200:  # not yet the answer
            return
        self._has_begun = False
        if self._answer is None or self._answer.done():
            self.abort()  # nobody asked
            return
        self.is_reusable = (
            self.is_reusable
            and bool(self._parser.should_keep_alive())
            and self._transport is not None
            and not self._transport.get_write_buffer_size()  # answered before it was all read
        )
        self._answer.set_result(HttpResponse(status, tuple(self._headers), b"".join(self._body)))

    # ------------------------------------------------------------------------------ inside

    def _ends_with_connection(self) -> bool:
        return not any(name in _ENDED_BY for name, _ in self._headers)

    def _fail(self, reason: str) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(AmbiguousError(reason))


@lru_cache(maxsize=256)
def _header_name(name: bytes) -> str:
    """The name as it is compared; a server sends the same few with every answer."""
    return name.decode("latin-1").lower()


def _message(method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes) -> bytes:
    """A request as bytes.  What would make two requests of one is refused."""
    lines = [f"{method} {target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers]
    if body or method != "GET":
        lines.append(f"content-length: {len(body)}")
    head = "\r\n".join((*lines, "", ""))
    if head.count("\n") != len(lines) + 1 or " " in target or not target.isascii():
        raise UsageError(
            f"{method} {target!r} cannot be sent: its path holds a space or a character beyond "
            "ASCII, or one of its headers a line end.\n  fix: escape it"
        )
    return head.encode() + body
