"""HttpTransport: requests to one API server, with deadlines, credentials and certificates.

- Every request has one deadline.  It covers getting credentials, waiting for a connection, the
  handshake and the complete answer; for a stream, everything up to the headers.  How long a stream
  may be silent after that is up to its reader.
- The body of a refused stream (status 400 or more) is read for at most 10 seconds and about 1 MiB,
  so that a body without an end does not block a reflector.
- A 401 renews the credentials, and the request is sent once more.
- Certificate files are checked once a minute and after every failure.  If they were replaced, new
  connections use the new ones; requests and streams under way keep their connection.
- The error says whether the request may have been sent (``AmbiguousError``) or not
  (``UnreachableError``).
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from urllib.parse import urlsplit

from myrmidon.api.clock import Clock
from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream, query_string
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
_LOOK_SECONDS = 60.0  # between two checks of the certificate files, as long as no request fails


class HttpTransport:
    """Sends requests to one endpoint.

    ``connections_max``    requests under way at a time; more of them wait; streams do not count
    ``connect_seconds``    to open a connection, with proxy and TLS handshake
    ``deadline_seconds``   for a request without a deadline of its own, and to open a stream
    ``keepalive_seconds``  after so long without a request, a connection is not used again
    ``user_agent``         of every request
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
        self._limits = Limits(connections_max, connect_seconds, keepalive_seconds)
        self._deadlines, self._deadline_seconds = Deadlines(), deadline_seconds
        self._headers = {"user-agent": user_agent}
        self._certificates: Certificates | None = None
        self._looked_at = float("-inf")
        self._renewing, self._renewals, self._renewed = asyncio.Lock(), 0, False
        self._pool: Pool | None = None

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Return the complete answer.  After a 401, renew the credentials and send once more."""
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
        """Send a request; the answer is entered as soon as its headers have arrived."""
        return self._stream(request)

    async def close(self) -> None:
        """Close idle connections now, and those in use when their answer is complete."""
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
        """Open a stream.  If the server refuses it, buffer the body and close the connection."""
        headers = self._all_headers(request, authorization)
        pool = self._pool or self._new_pool()
        stream = await pool.stream(request.method, self._target(request), headers, request.body)
        if stream.status >= 400:
            try:
                with self._deadlines.within(_REFUSAL_SECONDS_MAX):
                    await stream.keep(_REFUSAL_BYTES_MAX)
            except TimeoutError:
                pass  # the status is enough for an error
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
        """Return the error to raise, and have the next request check the certificate files."""
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
        """Close the pool; the next request opens a new one."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    # ----------------------------------------------------------------------- credentials

    async def _authorization(self) -> str:
        """Return the Authorization header, and check the certificate files if that is due."""
        now = self._clock.monotonic()
        header = await self._credentials.authorization(now)
        if now - self._looked_at >= _LOOK_SECONDS:
            self._looked_at = now
            self._renew_certificates()
        return header

    async def _renew(self, refused: str) -> bool:
        """Renew the credentials; return whether there are others to try.

        Requests that are refused at the same time share one renewal.
        """
        renewals = self._renewals
        async with self._renewing:
            if self._renewals == renewals:
                has_header = await self._credentials.renew(refused)
                self._renewed = self._renew_certificates() or has_header
                self._renewals += 1
            return self._renewed

    def _renew_certificates(self) -> bool:
        """Load replaced certificate files and close the pool; return whether there were any.

        Open streams keep their connection.
        """
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
