"""The server over sockets, for kubectl and every other client.

aiohttp's low-level server parses requests in C and knows how to survive bad clients; its router and
middlewares are not needed, as a path means the same here as it does to the handler.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from aiohttp import web
from multidict import CIMultiDict

from myrmidon.api.wire import HttpRequest, HttpResponse
from myrmidon.apiserver.bodies import BODY_BYTES_MAX
from myrmidon.apiserver.fronts import answer, stream_watch
from myrmidon.apiserver.server import ApiServer
from myrmidon.apiserver.watching import Watch

_READ_BYTES_MAX = BODY_BYTES_MAX + 1  # one more than allowed, so that the handler sees the excess


class HttpFront:
    """Serves one server on one port."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server

    async def respond(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        asked = HttpRequest(
            request.method,
            request.rel_url.raw_path,
            tuple(request.rel_url.query.items()),
            {key.lower(): value for key, value in request.headers.items()},
            await _body(request) if request.can_read_body else b"",
        )
        outcome = self._server.answer(asked)
        self._server.settle()
        if not isinstance(outcome, HttpResponse):
            outcome = await answer(self._server, asked, None, outcome)
        if isinstance(outcome, Watch):
            return await self._watch(request, outcome)
        return web.Response(
            status=outcome.status, headers=CIMultiDict(outcome.headers), body=outcome.body
        )

    async def _watch(self, request: web.BaseRequest, watch: Watch) -> web.StreamResponse:
        response = web.StreamResponse(headers=CIMultiDict(watch.headers))
        response.enable_chunked_encoding()
        await response.prepare(request)
        lines = stream_watch(self._server, watch)
        with suppress(ConnectionError):
            async for line in lines:
                await response.write(line + b"\n")
            await response.write_eof()
        return response


async def _body(request: web.BaseRequest) -> bytes:
    """The body, or as much of it as shows that it is too large."""
    parts: list[bytes] = []
    size = 0
    async for part in request.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > _READ_BYTES_MAX:
            break
    return b"".join(parts)


@asynccontextmanager
async def serve(
    server: ApiServer,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[str]:
    """Serve until the block is left; yields the address of the server."""
    front = HttpFront(server)
    runner = web.ServerRunner(
        web.Server(front.respond, access_log=None, keepalive_timeout=3600),
        handle_signals=False,
        shutdown_timeout=0.1,
    )
    await runner.setup()
    site = web.TCPSite(runner, host, port, ssl_context=tls, backlog=1024)
    await site.start()
    try:
        bound = runner.addresses[0][1]
        yield f"{'https' if tls else 'http'}://{host}:{bound}"
    finally:
        await runner.cleanup()


async def serve_forever(server: ApiServer, *, host: str, port: int) -> None:
    """Serve until cancelled."""
    async with serve(server, host=host, port=port):
        await asyncio.Event().wait()
