"""The transport over sockets: one deadline per request, fresh credentials, certificates that change.

Bytes go over the connections of ``io.connections``, or of ``io.proxied`` where a proxy is named.

Every failure says whether the request was sent (``AmbiguousError``) or not (``UnreachableError``).
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Protocol
from urllib.parse import urlsplit

from myrmidon.api.clock import Clock
from myrmidon.api.wire import HttpRequest, HttpResponse, ResponseStream, query_string
from myrmidon.errors import AmbiguousError, TransportError, UnreachableError
from myrmidon.io.auth import Credentials
from myrmidon.io.certificates import Certificates
from myrmidon.io.clock import LoopClock
from myrmidon.io.config import Endpoint, Tls
from myrmidon.io.connections import Headers, Limits, Pool
from myrmidon.io.deadlines import Deadlines
from myrmidon.io.proxied import ProxiedPool
from myrmidon.io.sockets import Address

_LOOK_SECONDS = 60.0  # how often the files of certificates are looked at while all is well


class BegunStream(ResponseStream, Protocol):
    """A stream that holds a connection."""

    def hang_up(self) -> None: ...  # noqa: D102


class Way(Protocol):
    """A way to the server: straight, or through a proxy."""

    async def send(self, method: str, target: str, headers: Headers, body: bytes) -> HttpResponse:
        """Send a request and wait for its whole answer."""
        ...

    async def stream(self, method: str, target: str, headers: Headers, body: bytes) -> BegunStream:
        """Send a request and hand out its answer as soon as it has begun."""
        ...

    def retire(self) -> None:
        """Go it no more; what is under way goes on."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...


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
        self._way: Way | None = None
        self._retired: list[Way] = []

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send, wait for the whole answer, renew the credentials once if they are refused."""
        seconds = self._deadline_seconds if deadline is None else deadline
        try:
            with self._deadlines.within(seconds):
                authorization = await self._authorization()
                response = await self._send(request, authorization)
                if response.status == 401 and await self._renew(authorization):
                    response = await self._send(request, await self._authorization())
                return response
        except (OSError, TransportError) as error:
            raise self._failure(request, error, seconds) from error

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[ResponseStream]:
        """Send, and hand out the answer as soon as it has begun."""
        return self._stream(request)

    async def close(self) -> None:
        """Close every connection."""
        ways = [*self._retired, *([self._way] if self._way else [])]
        self._way, self._retired = None, []
        for way in ways:
            await way.close()

    # --------------------------------------------------------------------------- requests

    async def _send(self, request: HttpRequest, authorization: str) -> HttpResponse:
        headers = self._all_headers(request, authorization)
        return await self._there().send(
            request.method, self._target(request), headers, request.body
        )

    @asynccontextmanager
    async def _stream(self, request: HttpRequest) -> AsyncIterator[ResponseStream]:
        authorization = await self._authorization()
        stream = await self._begin(request, authorization)
        try:
            if stream.status == 401 and await self._renew(authorization):
                stream.hang_up()
                stream = await self._begin(request, await self._authorization())
            yield stream
        finally:
            stream.hang_up()

    async def _begin(self, request: HttpRequest, authorization: str) -> BegunStream:
        headers = self._all_headers(request, authorization)
        try:
            with self._deadlines.within(self._deadline_seconds):
                return await self._there().stream(
                    request.method, self._target(request), headers, request.body
                )
        except (OSError, TransportError) as error:
            raise self._failure(request, error, self._deadline_seconds) from error

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
        """What to say; and the next request looks whether there are other certificates by now."""
        self._looked_at = float("-inf")
        named = f"{request.method} {request.path}"
        if isinstance(error, TimeoutError):
            return AmbiguousError(f"no answer in {seconds} s: {named}")
        sent = not isinstance(error, UnreachableError)
        return (AmbiguousError if sent else UnreachableError)(f"{named}: {error}")

    # -------------------------------------------------------------------------- the way

    def _there(self) -> Way:
        if self._way is None:
            address = Address.of(self._origin, self._tls(), self._endpoint.tls.server_name)
            if self._endpoint.proxy is None:
                self._way = Pool(address, self._limits)
            else:
                self._way = ProxiedPool(address, self._endpoint.proxy, self._limits)
        return self._way

    def _retire(self) -> None:
        """Connect anew for whatever comes next."""
        if self._way is not None:
            self._way.retire()
            self._retired.append(self._way)
            self._way = None

    # ----------------------------------------------------------------------- credentials

    async def _authorization(self) -> str:
        """The header of now; and from time to time a look at the certificates."""
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
