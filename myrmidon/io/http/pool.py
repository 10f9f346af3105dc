"""A pool of HTTP/1.1 connections to one server.

The server may have closed an idle connection, or a proxy may have dropped it, and a request that is
sent on it is lost.  Three rules guard against that:

- A connection that was idle for ``keepalive_seconds`` is not used again.
- A connection that was idle for more than 5 ms is checked first for unread bytes or an end.
- A read that fails before the first byte of its answer is sent once more, on a new connection.
  A write is not, because it may have taken effect.

A request that fails or is cancelled resets its connection, so that the kernel does not deliver it
later.
"""

import asyncio
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from myrmidon.api.requests.transport import HttpResponse
from myrmidon.errors import AmbiguousError, UnreachableError, UsageError
from myrmidon.io.access.addresses import Address
from myrmidon.io.access.connect_errors import why
from myrmidon.io.http.connections import Connection
from myrmidon.io.http.dialing import dial
from myrmidon.io.http.slots import Slots
from myrmidon.io.http.streams import Stream

Headers: TypeAlias = tuple[tuple[str, str], ...]

_READS = frozenset({"GET", "HEAD"})
_UNCHECKED_SECONDS = 0.005  # a connection that was idle for less is not checked
_NEVER = float("inf")


class Limits(NamedTuple):
    """How many connections a pool may have, how long one may take to open, and may be idle."""

    connections_max: int
    connect_seconds: float
    keepalive_seconds: float


class Pool:
    """Connections to one address, at most ``connections_max`` of them for requests.

    Each stream has a connection of its own, which does not count: a watch keeps its connection for
    minutes, and enough watches would leave no connection for a write.
    """

    def __init__(self, address: Address, limits: Limits) -> None:
        self.address, self._host, self._limits = address, str(address), limits
        self._slots = Slots(limits.connections_max)
        self._idle: list[tuple[float, Connection]] = []  # (idle since, connection), latest last
        self._closed = False
        self._origin, self._extra = _absolute_form(address)

    async def send(
        self,
        method: str,
        target: str,
        headers: Headers,
        body: bytes = b"",
        *,
        until: float = _NEVER,
    ) -> HttpResponse:
        """Send a request and return its complete answer.

        The request is not sent at ``until`` (of the event loop's clock) or later.
        """
        message = self._message(method, target, headers, body)
        if not self._slots.take():
            await self._slots.wait()
        try:
            idle = self._take()
            if idle is None:
                return await self._exchange(await self._connect(), message, until)
            try:
                return await self._exchange(idle, message, until)
            except AmbiguousError:
                if method not in _READS or idle.has_heard:
                    raise
            return await self._exchange(await self._connect(), message, until)
        finally:
            self._slots.give_back()

    async def stream(self, method: str, target: str, headers: Headers, body: bytes = b"") -> Stream:
        """Send a request and return its answer as soon as the headers have arrived."""
        message = self._message(method, target, headers, body)
        connection = await self._connect()
        try:
            return await connection.begin(message)
        except BaseException:
            connection.reset()
            raise

    def close(self) -> None:
        """Close idle connections now, and those in use when their answer is complete."""
        self._closed = True
        for _, connection in self._idle:
            connection.close()
        self._idle = []

    async def _exchange(self, connection: Connection, message: bytes, until: float) -> HttpResponse:
        try:
            answer = await connection.exchange(message, until)
        except BaseException:
            connection.reset()
            raise
        self._put_back(connection)
        return answer

    def _take(self) -> Connection | None:
        now = asyncio.get_running_loop().time()
        while self._idle:
            since, connection = self._idle.pop()
            is_young = since >= now - self._limits.keepalive_seconds
            is_fresh = now - since < _UNCHECKED_SECONDS
            if connection.is_reusable and is_young and (is_fresh or connection.is_quiet):
                return connection
            connection.close()
        return None

    def _put_back(self, connection: Connection) -> None:
        now = asyncio.get_running_loop().time()
        if self._closed or not connection.is_reusable:
            connection.close()
            return
        self._idle.append((now, connection))
        if self._idle[0][0] < now - self._limits.keepalive_seconds:
            self._idle.pop(0)[1].close()

    async def _connect(self) -> Connection:
        connection = Connection()
        try:
            async with asyncio.timeout(self._limits.connect_seconds):
                connection.wire = await dial(self.address, connection)
        except TimeoutError as error:
            said = f"{self.address}: no connection within {self._limits.connect_seconds:g} s"
            raise UnreachableError(said) from error
        except (OSError, RuntimeError) as error:  # uvloop raises RuntimeError for some sockets
            raise UnreachableError(f"{self.address}: {why(error)}") from error
        return connection

    def _message(self, method: str, target: str, headers: Headers, body: bytes) -> bytes:
        """Return a request as bytes; refuse a target that could smuggle in a second request."""
        if not target.isascii() or not target.isprintable() or " " in target:
            raise UsageError(
                f"{method} {target!r} cannot be sent: a path may only have printable ASCII "
                "characters, without spaces.\n  fix: percent-encode it"
            )
        length = f"content-length: {len(body)}\r\n\r\n" if body or method not in _READS else "\r\n"
        line = f"{method} {self._origin}{target} HTTP/1.1\r\n"
        head = _head(self._host, headers, self._extra)
        return b"".join((line.encode(), head, length.encode(), body))


def _absolute_form(address: Address) -> tuple[str, Headers]:
    """Return the prefix of request targets and the extra headers for a plain-HTTP proxy.

    Both are empty without a proxy, and for a server with TLS: its requests go through a tunnel.
    """
    if address.proxy is None or address.tls is not None:
        return "", ()
    login = address.proxy.authorization
    return f"http://{address}", (("proxy-authorization", login),) if login else ()


@lru_cache(maxsize=32)
def _head(host: str, headers: Headers, extra: Headers) -> bytes:
    """Return the headers as bytes.  Cached: most requests have the same headers."""
    for name, value in (*headers, *extra):
        if not value.isascii() or not value.replace("\t", " ").isprintable():
            raise UsageError(
                f"the header {name} cannot be sent: it has a line break, another control character "
                "or a character outside ASCII.\n  fix: remove or encode it"
            )
    lines = [f"{name}: {value}\r\n" for name, value in (("host", host), *headers, *extra)]
    return "".join(lines).encode()
