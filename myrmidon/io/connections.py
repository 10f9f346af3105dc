"""A pool of HTTP/1.1 connections to one server.

A controller lives on small writes, and most of what a full HTTP client does for one of them is
comfort.  Here a request is one piece of bytes and its answer one future; httptools, the parser of
Node.js, reads it.  What a write costs this way and through aiohttp: ``benchmarks/transport.py``.

Every failure says whether the request can have been sent (``AmbiguousError``) or not
(``UnreachableError``): the next decision depends on it.
"""

import asyncio
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from httptools import HttpParserError, HttpResponseParser

from myrmidon.api.wire import HttpResponse
from myrmidon.errors import AmbiguousError, UnreachableError, UsageError
from myrmidon.io.reasons import why
from myrmidon.io.sockets import Address, Wire, connect
from myrmidon.io.streams import Stream

Headers: TypeAlias = tuple[tuple[str, str], ...]

_ENDED_BY = frozenset({"content-length", "transfer-encoding"})


class Limits(NamedTuple):
    """How many connections there are, and how long one may take to come and stay unused."""

    connections_max: int
    connect_seconds: float
    keepalive_seconds: float


class Pool:
    """At most ``connections_max`` connections; one that was idle for too long is not used again.

    Streams are not counted and have connections of their own, because a watch keeps its connection
    for minutes: enough of them would leave none for a write.
    """

    def __init__(self, address: Address, limits: Limits) -> None:
        self.address, self._host, self._limits = address, str(address), limits
        self._slots = asyncio.Semaphore(limits.connections_max)
        self._idle: list[tuple[float, Connection]] = []  # the one that was used last comes last
        self._closed = False

    async def send(
        self, method: str, target: str, headers: Headers, body: bytes = b""
    ) -> HttpResponse:
        """Send a request and wait for its whole answer."""
        message = _message(method, target, self._host, headers, body)
        async with self._slots:
            idle = self._take()
            if idle is None or method != "GET":
                return await self._exchange(idle or await self._connect(), message)
            try:
                return await self._exchange(idle, message)
            except AmbiguousError:  # the server may just have closed it, and a read can be repeated
                return await self._exchange(await self._connect(), message)

    async def stream(self, method: str, target: str, headers: Headers, body: bytes = b"") -> Stream:
        """Send a request and hand out its answer as soon as it has begun."""
        message = _message(method, target, self._host, headers, body)
        connection = await self._connect()
        try:
            return await connection.begin(message)
        except BaseException:
            connection.abort()
            raise

    def retire(self) -> None:
        """Close what is idle; what is in use closes when its answer is there."""
        self._closed = True
        for _, connection in self._idle:
            connection.abort()
        self._idle = []

    async def close(self) -> None:
        """Nothing is left to be used."""
        self.retire()

    async def _exchange(self, connection: "Connection", message: bytes) -> HttpResponse:
        try:
            answer = await connection.exchange(message)
        except BaseException:
            connection.abort()  # nobody knows where in an answer it stands
            raise
        self._put_back(connection)
        return answer

    def _take(self) -> "Connection | None":
        oldest = asyncio.get_running_loop().time() - self._limits.keepalive_seconds
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
        if self._idle[0][0] < now - self._limits.keepalive_seconds:
            self._idle.pop(0)[1].abort()

    async def _connect(self) -> "Connection":
        connection = Connection()
        try:
            async with asyncio.timeout(self._limits.connect_seconds):
                connection.wire = await connect(self.address, connection)
        except TimeoutError as error:
            said = f"{self.address}: no connection in {self._limits.connect_seconds:g} s"
            raise UnreachableError(said) from error
        except OSError as error:
            raise UnreachableError(f"{self.address}: {why(error)}") from error
        return connection


class Connection:
    """One connection: one request at a time, then its answer."""

    wire: Wire

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self._answer: asyncio.Future[HttpResponse] | None = None
        self._begun: asyncio.Future[Stream] | None = None
        self._stream: Stream | None = None
        self._headers: list[tuple[str, str]] = []
        self._body: list[bytes] = []
        self._has_begun = False  # the headers of an answer are there
        self.is_reusable = True

    async def exchange(self, message: bytes) -> HttpResponse:
        """Write a request, wait for the answer."""
        self._answer = asyncio.get_running_loop().create_future()
        self.wire.write(message)
        try:
            return await self._answer
        finally:
            self._answer = None

    async def begin(self, message: bytes) -> Stream:
        """Write a request, wait until its answer begins.  Afterwards the connection is used up."""
        self.is_reusable = False
        self._begun = asyncio.get_running_loop().create_future()
        self.wire.write(message)
        return await self._begun

    def abort(self) -> None:
        """Drop the connection."""
        self.is_reusable = False
        self.wire.abort()

    # ----------------------------------------------------------------- called by the wire

    def received(self, data: bytes) -> None:
        """Read on."""
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            self._fail(f"the answer is no HTTP: {error}")
            self.abort()

    def lost(self, error: Exception | None) -> None:
        """Nothing more will come."""
        self.is_reusable = False
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
        status = self._parser.get_status_code()
        if status >= 200 and self._begun is not None and not self._begun.done():
            self._stream = Stream(status, tuple(self._headers), self.wire)
            self._begun.set_result(self._stream)

    def on_body(self, data: bytes) -> None:  # noqa: D102
        if self._stream is None:
            self._body.append(data)
        else:
            self._stream.feed(data)

    def on_message_complete(self) -> None:  # noqa: D102
        status = self._parser.get_status_code()
        if status < 200:  # not yet the answer
            return
        self._has_begun = False
        if self._stream is not None:
            self._stream.end()
        elif self._answer is None or self._answer.done():
            self.abort()  # nobody asked
        else:
            self.is_reusable = (
                self.is_reusable
                and bool(self._parser.should_keep_alive())
                and self.wire.is_flushed  # else it was answered before it was all read
            )
            body = b"".join(self._body)
            self._answer.set_result(HttpResponse(status, tuple(self._headers), body))

    # ------------------------------------------------------------------------------ inside

    def _ends_with_connection(self) -> bool:
        return not any(name in _ENDED_BY for name, _ in self._headers)

    def _fail(self, reason: str) -> None:
        if self._stream is not None:
            self._stream.end(AmbiguousError(reason))
        for waiting in (self._answer, self._begun):
            if waiting is not None and not waiting.done():
                waiting.set_exception(AmbiguousError(reason))


@lru_cache(maxsize=256)
def _header_name(name: bytes) -> str:
    """The name as it is compared; a server sends the same few with every answer."""
    return name.decode("latin-1").lower()


def _message(method: str, target: str, host: str, headers: Headers, body: bytes) -> bytes:
    """A request as bytes.  What would make two requests of one is refused."""
    if " " in target or "\n" in target or "\r" in target or not target.isascii():
        raise UsageError(
            f"{method} {target!r} cannot be sent: a path holds no space, no line end and nothing "
            "beyond ASCII.\n  fix: escape it"
        )
    length = f"content-length: {len(body)}\r\n\r\n" if body or method != "GET" else "\r\n"
    line = f"{method} {target} HTTP/1.1\r\n"
    return b"".join((line.encode(), _head(host, headers), length.encode(), body))


@lru_cache(maxsize=32)
def _head(host: str, headers: Headers) -> bytes:
    """The headers as bytes; requests of one kind have the same ones."""
    lines = [f"{name}: {value}\r\n" for name, value in (("host", host), *headers)]
    wrong = next((line for line in lines if line.count("\n") + line.count("\r") != 2), None)
    if wrong is not None:
        name = wrong.partition(":")[0]
        raise UsageError(
            f"the header {name} cannot be sent: it holds a line end.\n  fix: escape it"
        )
    return "".join(lines).encode()
