"""The way to a server through a proxy: an aiohttp session without its comfort.

No cookies, no redirects, no proxies looked up in the environment, no timers per socket operation.  The
straight way, which nearly everybody takes, is ``connections``.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from io import BytesIO

import aiohttp
from yarl import URL

from myrmidon.api.wire import HttpResponse
from myrmidon.errors import AmbiguousError, TransportError, UnreachableError
from myrmidon.io.clock import LoopClock
from myrmidon.io.connections import Headers, Limits
from myrmidon.io.reasons import why
from myrmidon.io.sockets import Address
from myrmidon.io.streams import Lines

_PIECES_BYTES_MIN = 1 << 20
_TURNS_TO_CLOSE = 3  # of the event loop, until a TLS connection that was cut off is really closed
_OPENING_SECONDS_MAX = 1.0  # for streams that nobody wants any more, when all is closed
_AUTO_HEADERS = ("accept", "accept-encoding", "content-type", "user-agent")
_NOT_SENT = (
    aiohttp.ClientConnectorError,  # refused, no route, name unknown, handshake failed
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
    aiohttp.InvalidURL,
)


class ProxiedPool:
    """Connections through one proxy, as ``connections.Pool`` has them to a server."""

    def __init__(self, address: Address, proxy: str, limits: Limits) -> None:
        self._address, self._proxy, self._limits = address, proxy, limits
        self._origin = f"{'http' if address.tls is None else 'https'}://{address}"
        self._sessions: dict[int, aiohttp.ClientSession] = {}
        self._openings: list[asyncio.Task[aiohttp.ClientResponse]] = []

    async def send(
        self, method: str, target: str, headers: Headers, body: bytes = b""
    ) -> HttpResponse:
        """Send a request and wait for its whole answer."""
        try:
            async with self._open(
                method, target, headers, body, self._limits.connections_max
            ) as answer:
                return HttpResponse(answer.status, _headers(answer), await answer.read())
        except (aiohttp.ClientError, OSError) as error:
            raise _failure(error) from error

    async def stream(
        self, method: str, target: str, headers: Headers, body: bytes = b""
    ) -> "ProxiedStream":
        """Send a request and hand out its answer as soon as it has begun.

        Who gives up meanwhile does not interrupt it: in the middle of a handshake that would leave
        a socket behind.  It is hung up as soon as it is open.
        """
        loop = asyncio.get_running_loop()
        opening = loop.create_task(_opened(self._open(method, target, headers, body, 0)))
        try:
            return ProxiedStream(await asyncio.shield(opening))
        except asyncio.CancelledError:
            self._openings.append(opening)
            opening.add_done_callback(self._opened_late)
            loop.call_later(self._limits.connect_seconds, opening.cancel)
            raise
        except (aiohttp.ClientError, OSError) as error:
            raise _failure(error) from error

    def retire(self) -> None:
        """What is open goes on, and is closed at the end."""

    async def close(self) -> None:
        """Close every connection."""
        if self._openings:
            await asyncio.wait(list(self._openings), timeout=_OPENING_SECONDS_MAX)
        for opening in list(self._openings):
            opening.cancel()
        for session in self._sessions.values():
            await session.close()
        self._sessions = {}
        for _ in range(_TURNS_TO_CLOSE):
            await LoopClock().sleep(0)

    def _open(
        self, method: str, target: str, headers: Headers, body: bytes, limit: int
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        return self._session(limit).request(
            method,
            URL(self._origin + target, encoded=True),
            data=_payload(body),
            headers=headers,
            allow_redirects=False,
            proxy=self._proxy,
            server_hostname=self._address.server_name or None,
        )

    def _session(self, limit: int) -> aiohttp.ClientSession:
        """Requests and streams have sessions of their own, so that streams leave room for requests."""
        session = self._sessions.get(limit)
        if session is None:
            connector = aiohttp.TCPConnector(
                ssl=self._address.tls or True,
                limit=limit,
                keepalive_timeout=self._limits.keepalive_seconds,
            )
            session = self._sessions[limit] = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=self._limits.connect_seconds
                ),
                skip_auto_headers=_AUTO_HEADERS,
                read_bufsize=2**18,
            )
        return session

    def _opened_late(self, opening: asyncio.Task[aiohttp.ClientResponse]) -> None:
        self._openings.remove(opening)
        if not opening.cancelled() and opening.exception() is None:
            ProxiedStream(opening.result()).hang_up()


class ProxiedStream:
    """An answer that has begun."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer
        self.status, self.headers = answer.status, _headers(answer)

    async def lines(self) -> AsyncIterator[bytes]:
        """Whole lines.  What stands after the last line end was cut off, and is no line."""
        lines = Lines()
        async for chunk in self._chunks():
            for line in lines.cut(chunk):
                yield line

    async def read(self) -> bytes:
        """All that is left."""
        return b"".join([chunk async for chunk in self._chunks()])

    def hang_up(self) -> None:
        """Drop the connection: nobody knows where in a stream it stands.

        Aborted, not closed: a TLS goodbye would wait for a server that still has things to say.
        """
        connection = self._answer.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        self._answer.close()

    async def _chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._answer.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, OSError) as error:
            raise _failure(error) from error


async def _opened(
    opening: AbstractAsyncContextManager[aiohttp.ClientResponse],
) -> aiohttp.ClientResponse:
    return await opening.__aenter__()


def _headers(answer: aiohttp.ClientResponse) -> Headers:
    return tuple((name.lower(), value) for name, value in answer.headers.items())


def _failure(error: Exception) -> TransportError:
    said = str(error) or type(error).__name__
    if isinstance(error, aiohttp.ClientConnectorError):
        said = f"{error.host}:{error.port}: {why(error)}"
    return UnreachableError(said) if isinstance(error, _NOT_SENT) else AmbiguousError(said)


def _payload(body: bytes) -> bytes | BytesIO | None:
    """What aiohttp sends; a large body in pieces, so that it does not hold up everybody else."""
    if len(body) >= _PIECES_BYTES_MIN:
        return BytesIO(body)
    return body or None
