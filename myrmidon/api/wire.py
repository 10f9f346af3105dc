"""What goes over the wire: one HTTP request and one HTTP response, as values.

This is the narrowest seam of the program.  A transport over sockets, the embedded API server in
the same process, a fault injector and a recorder all take the one and give the other.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple, Protocol
from urllib.parse import quote, urlencode

JSON = "application/json"
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@lru_cache(maxsize=1024)  # nearly every write of a controller has the same one
def query_string(query: tuple[tuple[str, str], ...]) -> str:
    """Return the query as it stands behind the question mark."""
    return urlencode(query, quote_via=quote)


class HttpRequest(NamedTuple):
    """A request: method, path with nothing escaped away, query in order, headers, body."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = _NO_HEADERS  # names in lower case
    body: bytes = b""


class HttpResponse(NamedTuple):
    """A response that has ended."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()  # names in lower case; a name may repeat
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """The first header of that name."""
        return next((value for key, value in self.headers if key == name), None)


class ResponseStream(Protocol):
    """A response that has begun: a watch.  ``lines`` yields one JSON document each."""

    status: int
    headers: tuple[tuple[str, str], ...]

    def lines(self) -> AsyncIterator[bytes]:
        """The lines as they come, without their line ends; ends when the server closes."""
        ...

    async def read(self) -> bytes:
        """All that is left, for answers that turn out to be errors."""
        ...


class Transport(Protocol):
    """Carries requests to one API server.

    Raises ``UnreachableError`` where the request was not sent and ``AmbiguousError`` where it may
    have been.  An answer of the server, of whatever status, is a response and no error.
    """

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send and wait for the whole answer, at most ``deadline`` seconds."""
        ...

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[ResponseStream]:
        """Send and hand out the answer as it comes."""
        ...

    async def close(self) -> None:
        """Let go of every connection."""
        ...
