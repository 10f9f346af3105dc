"""The transport over sockets: one deadline per request, fresh credentials, certificates that change.

Nothing is waited for without a deadline: it covers the credentials, the wait for a connection, the
handshake and the whole answer of a request, and the same up to the headers of a stream.  A stream
that the server refuses (a status of 400 or more) is read at once and for a few seconds at most, so
that a body that never ends holds up no reflector.  How long a stream may be silent is its reader's
affair.

Every failure says whether the request was sent (``AmbiguousError``) or not (``UnreachableError``).
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from urllib.parse import urlsplit

from myrmidon.api.clock import Clock
from myrmidon.api.wire import HttpRequest, HttpResponse, ResponseStream, query_string
from myrmidon.errors import AmbiguousError, TransportError, UnreachableError
from myrmidon.io.access.addresses import Address
from myrmidon.io.access.certificates import Certificates
from myrmidon.io.access.credentials import Credentials
from myrmidon.io.access.kubeconfig import Endpoint, Tls
from myrmidon.io.http.pool import Headers, Limits, Pool
from myrmidon.io.http.streams import Stream
from myrmidon.io.timers.clock import LoopClock
from myrmidon.io.timers.deadlines import Deadlines

_REFUSAL_SECONDS_MAX = 10.0  # for the body of a refused stream
_REFUSAL_BYTES_MAX = 1 << 20
_LOOK_SECONDS = 60.0  # how often the files of certificates are looked at while all is well


class HttpTransport:
    """Carries requests to one endpoint."""

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
        self._limits = Limits(connections_max, connect_seconds, keepalive_seconds)
        self._deadlines, self._deadline_seconds = Deadlines(), deadline_seconds
        self._headers = {"user-agent": user_agent}
        self._certificates: Certificates | None = None
        self._looked_at = float("-inf")
        self._renewing, self._renewals, self._renewed = asyncio.Lock(), 0, False
        self._pool: Pool | None = None

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send, wait for the whole answer, renew the credentials once if they are refused."""
        seconds = self._deadline_seconds if deadline is None else deadline
        try:
            with self._deadlines.within(seconds) as block:
                until = block.at
                authorization = await self._authorization()
                response = await self._send(request, authorization, until)
                if response.status == 401 and await self._renew(authorization):
                    response = await self._send(request, await self._authorization(), until)
                return response
        except (OSError, TransportError) as error:
            raise self._failure(request, error, seconds) from error

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[ResponseStream]:
        """Send, and hand out the answer as soon as it has begun."""
        return self._stream(request)

    async def close(self) -> None:
        """Close every connection that is idle; those in use close with their answer."""
        self._retire()

    # --------------------------------------------------------------------------- requests

    async def _send(self, request: HttpRequest, authorization: str, until: float) -> HttpResponse:
        headers = self._all_headers(request, authorization)
        pool = self._pool or self._new_pool()
        return await pool.send(
            request.method, self._target(request), headers, request.body, until=until
        )

    @asynccontextmanager
    async def _stream(self, request: HttpRequest) -> AsyncIterator[ResponseStream]:
        stream = await self._begin(request)
        try:
            yield stream
        finally:
            stream.hang_up()

    async def _begin(self, request: HttpRequest) -> Stream:
        """Open a stream within the deadline, renewing the credentials once if they are refused."""
        try:
            with self._deadlines.within(self._deadline_seconds):
                authorization = await self._authorization()
                stream = await self._open(request, authorization)
                if stream.status == 401 and await self._renew(authorization):
                    stream = await self._open(request, await self._authorization())
                return stream
        except (OSError, TransportError) as error:
            raise self._failure(request, error, self._deadline_seconds) from error

    async def _open(self, request: HttpRequest, authorization: str) -> Stream:
        """Open a stream; read it to its end if the server refuses it."""
        headers = self._all_headers(request, authorization)
        pool = self._pool or self._new_pool()
        stream = await pool.stream(request.method, self._target(request), headers, request.body)
        if stream.status >= 400:
            try:
                with self._deadlines.within(_REFUSAL_SECONDS_MAX):
                    await stream.keep(_REFUSAL_BYTES_MAX)
            except TimeoutError:
                pass  # the status says what matters
            finally:
                stream.hang_up()
        return stream

    def _all_headers(self, request: HttpRequest, authorization: str) -> Headers:
        headers = {**self._headers, **request.headers}
        if authorization:
            headers["authorization"] = authorization
        return (*headers.items(), *self._endpoint.headers)

    def _target(self, request: HttpRequest) -> str:
        if not request.query:
            return self._prefix + request.path
        return f"{self._prefix}{request.path}?{query_string(request.query)}"

    def _failure(self, request: HttpRequest, error: Exception, seconds: float) -> TransportError:
        """Build the error.  The next request looks whether the certificates were replaced."""
        self._looked_at = float("-inf")
        named = f"{request.method} {request.path}"
        if isinstance(error, TimeoutError):
            return AmbiguousError(f"no answer in {seconds} s: {named}")
        sent = not isinstance(error, UnreachableError)
        return (AmbiguousError if sent else UnreachableError)(f"{named}: {error}")

    # ------------------------------------------------------------------------ connections

    def _new_pool(self) -> Pool:
        endpoint = self._endpoint
        address = Address.of(self._origin, self._tls(), endpoint.tls.server_name, endpoint.proxy)
        self._pool = Pool(address, self._limits)
        return self._pool

    def _retire(self) -> None:
        """Open new connections for the requests to come."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    # ----------------------------------------------------------------------- credentials

    async def _authorization(self) -> str:
        """Return the Authorization header; look at the certificates from time to time."""
        now = self._clock.monotonic()
        header = await self._credentials.authorization(now)
        if now - self._looked_at >= _LOOK_SECONDS:
            self._looked_at = now
            self._renew_certificates()
        return header

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
        self._retire()
        return True

    def _tls_files(self) -> Tls:
        cert, key = self._credentials.certificate or ("", "")
        tls = self._endpoint.tls
        return replace(tls, cert_file=cert, key_file=key) if cert else tls

    def _tls(self) -> ssl.SSLContext | None:
        if not self._origin.startswith("https:"):
            return None
        if self._certificates is None:
            self._certificates = Certificates(self._tls_files())
        return self._certificates.context
