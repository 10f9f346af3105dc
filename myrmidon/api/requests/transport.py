"""One HTTP request and one HTTP response as values, and the Transport between them.

Everything that talks to a server does so through a ``Transport``: sockets, the embedded API server
in the same process, fault injectors and recorders all implement it.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple, Protocol
from urllib.parse import quote, urlencode

JSON = "application/json"
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@lru_cache(maxsize=1024)  # cached, because nearly all writes of a controller have the same query
def query_string(query: tuple[tuple[str, str], ...]) -> str:
    """Return the encoded query string, without the question mark."""
    return urlencode(query, quote_via=quote)


class HttpRequest(NamedTuple):
    """An HTTP request: method, escaped path, query in order, headers, body."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = _NO_HEADERS  # names in lower case
    body: bytes = b""


class HttpResponse(NamedTuple):
    """A complete HTTP response."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()  # names in lower case; a name may repeat
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """Return the first header of that name; None if there is none."""
        return next((value for key, value in self.headers if key == name), None)


class ResponseStream(Protocol):
    """A response that is still being received, such as a watch: one JSON document per line."""

    status: int
    headers: tuple[tuple[str, str], ...]

    def lines(self) -> AsyncIterator[bytes]:
        """Yield the lines as they arrive, without line ends, until the server closes the stream."""
        ...

    async def read(self) -> bytes:
        """Return the rest of the body, for answers that turn out to be errors."""
        ...


class Transport(Protocol):
    """Carries requests to one API server.

    Raises ``UnreachableError`` if the request was not sent, and ``AmbiguousError`` if it may have
    been sent.  An answer with an error status (4xx, 5xx) is returned as a response, not raised.
    """

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send the request and return the whole response; wait at most ``deadline`` seconds."""
        ...

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[ResponseStream]:
        """Send the request and return the response while it is being received."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...
