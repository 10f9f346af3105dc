"""A kubernetes_asyncio ``ApiClient`` whose requests go through our client: ``ctx.api``.

The generated API classes of the library (``CoreV1Api``) build a request, hand it to the
``rest_client`` of an ``ApiClient``, and deserialize the answer.  ``RestClient`` takes that place and
sends the request through ``io.client``.  So it uses the credentials, the rate limit, the retries, the
metrics and the fence of the controller's other requests, and in a test the embedded server, its
virtual time and its faults.

What holds:

- An answer with an error status is raised as the library's ``ApiException``.  A request that got no
  answer raises our ``TransportError``, so the pass is retried.
- Writes need the lease like all others.  They are not recorded as own writes: their watch events wake
  controllers like those of any other client.
- What is read is not cached, and a change of it does not wake the object.
- ``watch.Watch`` works, and ``follow`` of a log: the answer is read line by line.

Not handled: form data and files, which no endpoint of an API server takes; ``stream`` (exec, attach,
port-forward), which needs WebSockets and an ``ApiClient`` of its own.

The library is imported when ``ctx.api`` is first used.
"""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from kubernetes_asyncio.client import ApiClient, ApiException, Configuration
from kubernetes_asyncio.client.rest import RESTClientObject, RESTResponse

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.errors import ApiError, ProgrammingError
from myrmidon.io.client import Client

_HOST = "http://cluster.invalid"  # only the path of an address is used
_STREAMS = frozenset({("watch", "true"), ("follow", "true")})


def api_client(client: Client) -> Any:
    """Return an ``ApiClient`` that sends its requests through ``client``.

    It need not be closed.
    """
    return _ApiClient(client)


class _ApiClient(ApiClient):  # type: ignore[misc]  # the library has no types
    """An ``ApiClient`` without a connection pool of its own."""

    def __init__(self, client: Client) -> None:  # the base class would open connections
        self.configuration = Configuration(host=_HOST)
        self.rest_client = RestClient(client)
        self.default_headers: dict[str, str] = {}
        self.cookie = None
        self.client_side_validation = self.configuration.client_side_validation
        self._pool = None

    async def close(self) -> None:
        """Do nothing: the connections belong to the manager."""


class RestClient(RESTClientObject):
    """The ``rest_client`` of an ``ApiClient``."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def close(self) -> None:
        """Do nothing: the connections belong to the manager."""

    async def request(  # noqa: PLR0917 - the signature of the library
        self,
        method: str,
        url: str,
        query_params: Any = None,
        headers: Mapping[str, str] | None = None,
        body: Any = None,
        post_params: Any = None,
        _preload_content: bool = True,
        _request_timeout: Any = None,
    ) -> Any:
        """Send one request; the parameters are those of ``RESTClientObject.request``.

        ``_request_timeout`` is not used: each request has the timeout of the manager.
        """
        del _request_timeout
        if post_params:
            raise ProgrammingError(
                f"{method} {urlsplit(url).path} sends form data, which ctx.api does not support.\n"
                "  fix: use an ApiClient of its own for it"
            )
        request = _request(method, url, query_params or (), headers or {}, body)
        if not _preload_content and not _STREAMS.isdisjoint(request.query):
            return await LineAnswer.opened(self._client, request)
        response = await self._client.exchange(request)
        answer = RESTResponse(_described(response), response.body)
        if _preload_content and response.status >= 300:
            raise ApiException(http_resp=answer)
        return answer


class LineAnswer:
    """An answer that is read line by line, with the methods that ``watch.Watch`` calls."""

    def __init__(self, stack: AsyncExitStack, lines: AsyncIterator[bytes]) -> None:
        self._stack, self._lines = stack, lines
        self.content, self.status = self, 200

    @classmethod
    async def opened(cls, client: Client, request: HttpRequest) -> "LineAnswer":
        """Open the stream; raise an ``ApiException`` if the server refuses it."""
        stack = AsyncExitStack()
        try:
            return cls(stack, await stack.enter_async_context(client.stream(request)))
        except ApiError as error:
            refusal = ApiException(status=error.status, reason=error.reason)
            refusal.body = error.message.encode()  # the library decodes it
            raise refusal from error

    async def readline(self) -> bytes:
        """Return the next line with its line end, ``b""`` at the end of the stream."""
        line = await anext(self._lines, None)
        if line is None:
            await self._stack.aclose()
            return b""
        return line + b"\n"

    def close(self) -> None:
        """Do nothing: the stream is closed when it has ended or is collected."""

    release = close


def _request(
    method: str, url: str, query: Any, headers: Mapping[str, str], body: Any
) -> HttpRequest:
    sent = {name.lower(): str(value) for name, value in headers.items() if name != "User-Agent"}
    content = b""
    if isinstance(body, bytes):
        content = body
    elif body is not None:
        sent.setdefault("content-type", "application/json")
        content = json.dumps(body).encode()
    pairs = query.items() if isinstance(query, Mapping) else query
    asked = tuple((str(name), _text(value)) for name, value in pairs)
    return HttpRequest(method.upper(), urlsplit(url).path, asked, sent, content)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _described(response: HttpResponse) -> Any:
    """Return what ``RESTResponse`` reads of an aiohttp response."""
    return SimpleNamespace(
        status=response.status, reason=str(response.status), headers=dict(response.headers)
    )
