"""The transport over sockets: pooled TLS connections, one deadline per request, fresh credentials.

Requests take the connections of ``io.connections``, which cost half as much.  Streams, and everything
that goes through a proxy, take an aiohttp session without its comfort: no cookies, no redirects, no
proxies looked up in the environment, no timers per socket operation.

Every failure says whether the request was sent (``AmbiguousError``) or not (``UnreachableError``).
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from io import BytesIO
from urllib.parse import quote, urlencode, urlsplit

import aiohttp
from yarl import URL

from myrmidon.api.clock import Clock
from myrmidon.api.wire import HttpRequest, HttpResponse
from myrmidon.errors import AmbiguousError, TransportError, UnreachableError
from myrmidon.io.auth import Credentials
from myrmidon.io.certificates import Certificates
from myrmidon.io.clock import LoopClock
from myrmidon.io.config import Endpoint, Tls
from myrmidon.io.connections import Address, Pool
from myrmidon.io.reasons import why

_PIECES_BYTES_MIN = 1 << 20
_TURNS_TO_CLOSE = 3  # of the event loop, until a TLS connection that was cut off is really closed
_LOOK_SECONDS = 60.0  # how often the files of certificates are looked at while all is well
_OPENING_SECONDS_MAX = 1.0  # for streams that nobody wants any more, when all is closed
_AUTO_HEADERS = ("accept", "accept-encoding", "content-type", "user-agent")
_NOT_SENT = (
    aiohttp.ClientConnectorError,  # refused, no route, name unknown, handshake failed
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
    aiohttp.InvalidURL,
)


class HttpTransport:
    """Carries requests to one endpoint.

    Requests and streams have pools of their own, because a watch keeps its connection for
    minutes: enough of them would leave no connection for a write.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        clock: Clock | None = None,
        connections_max: int = 100,
        connect_seconds: float = 10.0,
        deadline_seconds: float = 60.0,
        keepalive_seconds: float = 30.0,
        user_agent: str = "myrmidon",
    ) -> None:
        self._endpoint = endpoint
        place = urlsplit(endpoint.server)
        self._origin, self._prefix = f"{place.scheme}://{place.netloc}", place.path
        self._credentials: Credentials = endpoint.credentials
        self._clock: Clock = clock or LoopClock()
        self._connections_max = connections_max
        self._connect_seconds = connect_seconds
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_seconds)
        self._deadline_seconds = deadline_seconds
        self._keepalive_seconds = keepalive_seconds
        self._headers = {"user-agent": user_agent}
        self._certificates: Certificates | None = None
        self._looked_at = float("-inf")
        self._renewing, self._renewals, self._renewed = asyncio.Lock(), 0, False
        self._pool: Pool | None = None
        self._sessions: dict[int, aiohttp.ClientSession] = {}
        self._retired: list[aiohttp.ClientSession] = []
        self._openings: list[asyncio.Task[aiohttp.ClientResponse]] = []

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send, wait for the whole answer, renew the credentials once if they are refused."""
        seconds = self._deadline_seconds if deadline is None else deadline
        try:
            async with asyncio.timeout(seconds):
                authorization = await self._authorization()
                response = await self._send(request, authorization)
                if response.status == 401 and await self._renew(authorization):
                    authorization = await self._authorization()
                    response = await self._send(request, authorization)
                return response
        except TimeoutError as error:
            raise AmbiguousError(f"no answer in {seconds} s: {_named(request)}") from error
        except (UnreachableError, AmbiguousError) as error:
            self._looked_at = float("-inf")
            raise type(error)(f"{_named(request)}: {error}") from error
        except (aiohttp.ClientError, OSError) as error:
            self._looked_at = float("-inf")
            raise _failure(error, request) from error

    async def _send(self, request: HttpRequest, authorization: str) -> HttpResponse:
        if self._endpoint.proxy is None:
            headers = self._all_headers(request, authorization)
            return await self._connections().send(
                request.method, self._target(request), headers, request.body
            )
        async with self._open(request, authorization, self._connections_max) as answer:
            body = await answer.read()
            return HttpResponse(answer.status, _headers(answer), body)

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager["HttpStream"]:
        """Send, and hand out the answer as soon as it has begun."""
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: HttpRequest) -> AsyncIterator["HttpStream"]:
        authorization = await self._authorization()
        answer = await self._begin(request, authorization)
        try:
            if answer.status == 401 and await self._renew(authorization):
                _hang_up(answer)
                authorization = await self._authorization()
                answer = await self._begin(request, authorization)
            yield HttpStream(answer, request)
        finally:
            _hang_up(answer)

    async def _begin(self, request: HttpRequest, authorization: str) -> aiohttp.ClientResponse:
        """Open a stream.

        Who gives up meanwhile does not interrupt it: in the middle of a handshake that would leave
        a socket behind.  It is hung up as soon as it is open.
        """
        seconds = self._deadline_seconds
        loop = asyncio.get_running_loop()
        opening = loop.create_task(_opened(self._open(request, authorization, 0)))
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(opening)
        except asyncio.CancelledError:
            self._openings.append(opening)
            opening.add_done_callback(self._opened_late)
            loop.call_later(seconds, opening.cancel)
            raise
        except TimeoutError as error:
            opening.cancel()
            raise AmbiguousError(f"no answer in {seconds} s: {_named(request)}") from error
        except (aiohttp.ClientError, OSError) as error:
            self._looked_at = float("-inf")
            raise _failure(error, request) from error

    def _open(
        self, request: HttpRequest, authorization: str, limit: int
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        return self._session(limit).request(
            request.method,
            URL(self._origin + self._target(request), encoded=True),
            data=_payload(request.body),
            headers=self._all_headers(request, authorization),
            allow_redirects=False,
            proxy=self._endpoint.proxy,
            server_hostname=self._endpoint.tls.server_name or None,
        )

    def _all_headers(self, request: HttpRequest, authorization: str) -> list[tuple[str, str]]:
        headers = {**self._headers, **request.headers}
        if authorization:
            headers["authorization"] = authorization
        return [*headers.items(), *self._endpoint.headers]

    def _target(self, request: HttpRequest) -> str:
        if not request.query:
            return self._prefix + request.path
        return f"{self._prefix}{request.path}?{urlencode(request.query, quote_via=quote)}"

    async def _authorization(self) -> str:
        """The header of now; and from time to time a look at the certificates."""
        now = self._clock.monotonic()
        header = await self._credentials.authorization(now)
        if now - self._looked_at >= _LOOK_SECONDS:
            self._looked_at = now
            self._renew_certificates()
        return header

    def _tls_files(self) -> Tls:
        cert, key = self._credentials.certificate or ("", "")
        return (
            replace(self._endpoint.tls, cert_file=cert, key_file=key)
            if cert
            else self._endpoint.tls
        )

    def _tls(self) -> ssl.SSLContext | None:
        if not self._origin.startswith("https:"):
            return None
        if self._certificates is None:
            self._certificates = Certificates(self._tls_files())
        return self._certificates.context

    def _connections(self) -> Pool:
        if self._pool is None:
            self._pool = Pool(
                Address.of(self._origin, self._tls(), self._endpoint.tls.server_name),
                connections_max=self._connections_max,
                connect_seconds=self._connect_seconds,
                keepalive_seconds=self._keepalive_seconds,
            )
        return self._pool

    def _session(self, limit: int) -> aiohttp.ClientSession:
        session = self._sessions.get(limit)
        if session is None:
            connector = aiohttp.TCPConnector(
                ssl=self._tls() or True, limit=limit, keepalive_timeout=self._keepalive_seconds
            )
            session = self._sessions[limit] = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=self._timeout,
                skip_auto_headers=_AUTO_HEADERS,
                read_bufsize=2**18,
            )
        return session

    async def _renew(self, refused: str) -> bool:
        """Get new credentials, once for all who are refused at the same time."""
        renewals = self._renewals
        async with self._renewing:
            if self._renewals == renewals:
                has_header = await self._credentials.renew(refused)
                self._renewed = self._renew_certificates() or has_header
                self._renewals += 1
            return self._renewed

    def _renew_certificates(self) -> bool:
        """Use other files from now on, for new connections; streams that are open go on."""
        if self._certificates is None or not self._certificates.renew(self._tls_files()):
            return False
        self._retired += self._sessions.values()
        self._sessions = {}
        self._drop_pool()
        return True

    def _opened_late(self, opening: asyncio.Task[aiohttp.ClientResponse]) -> None:
        self._openings.remove(opening)
        if not opening.cancelled() and opening.exception() is None:
            _hang_up(opening.result())

    async def close(self) -> None:
        """Close every connection."""
        self._drop_pool()
        if self._openings:
            await asyncio.wait(list(self._openings), timeout=_OPENING_SECONDS_MAX)
        for opening in list(self._openings):
            opening.cancel()
        for session in (*self._sessions.values(), *self._retired):
            await session.close()
        self._sessions, self._retired = {}, []
        for _ in range(_TURNS_TO_CLOSE):
            await self._clock.sleep(0)

    def _drop_pool(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None


class HttpStream:
    """An answer that has begun."""

    def __init__(self, answer: aiohttp.ClientResponse, request: HttpRequest) -> None:
        self._answer, self._request = answer, request
        self.status = answer.status
        self.headers = _headers(answer)

    async def lines(self) -> AsyncIterator[bytes]:
        """Whole lines.  What stands after the last line end was cut off, and is no line."""
        parts: list[bytes] = []
        try:
            async for chunk in self._answer.content.iter_any():
                first, *rest = chunk.split(b"\n")
                parts.append(first)
                if not rest:
                    continue
                yield b"".join(parts)
                for line in rest[:-1]:
                    yield line
                parts = [rest[-1]]
        except (aiohttp.ClientError, OSError) as error:
            raise _failure(error, self._request) from error

    async def read(self) -> bytes:
        """All that is left."""
        try:
            return await self._answer.read()
        except (aiohttp.ClientError, OSError) as error:
            raise _failure(error, self._request) from error


async def _opened(
    opening: AbstractAsyncContextManager[aiohttp.ClientResponse],
) -> aiohttp.ClientResponse:
    return await opening.__aenter__()


def _hang_up(answer: aiohttp.ClientResponse) -> None:
    """Drop the connection: nobody knows where in a stream it stands.

    Aborted, not closed: a TLS goodbye would wait for a server that still has things to say.
    """
    connection = answer.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    answer.close()


def _headers(answer: aiohttp.ClientResponse) -> tuple[tuple[str, str], ...]:
    return tuple((name.lower(), value) for name, value in answer.headers.items())


def _failure(error: Exception, request: HttpRequest) -> TransportError:
    said = str(error) or type(error).__name__
    if isinstance(error, aiohttp.ClientConnectorError):
        said = f"{error.host}:{error.port}: {why(error)}"
    text = f"{_named(request)}: {said}"
    if isinstance(error, _NOT_SENT):
        return UnreachableError(text)
    return AmbiguousError(text)


def _named(request: HttpRequest) -> str:
    return f"{request.method} {request.path}"


def _payload(body: bytes) -> bytes | BytesIO | None:
    """What aiohttp sends; a large body in pieces, so that it does not hold up everybody else."""
    if len(body) >= _PIECES_BYTES_MIN:
        return BytesIO(body)
    return body or None
