"""The HTTPS server for webhooks.

It serves on every replica, before the process leads and before its caches are in sync: the API server
chooses a replica by itself, and a write that our start depends on may need an answer.
"""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson
from aiohttp import web

from myrmidon.errors import UsageError
from myrmidon.io.timers.clock import LoopClock
from myrmidon.runtime.process.health import parse_address
from myrmidon.runtime.webhooks.dispatch import WebhookDispatch

_BODY_BYTES_MAX = 16 * 2**20  # a review has two objects of up to 3 MiB, escaped
_JSON = "application/json"
_SHUTDOWN_SECONDS_MAX = 5.0
_TURNS = 3


@asynccontextmanager
async def serving_webhooks(
    address: str, context: ssl.SSLContext, dispatch: WebhookDispatch
) -> AsyncIterator[str]:
    """Serve the webhooks at ``host:port`` or ``:port``; yield the bound address."""
    application = web.Application(client_max_size=_BODY_BYTES_MAX)

    async def answer(request: web.Request) -> web.Response:
        try:
            body = orjson.loads(await request.read())
        except orjson.JSONDecodeError as error:
            return _answer(400, {"message": f"the body is not JSON: {error}"})
        return _answer(*await dispatch.answer(request.path, body))

    application.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(
        application, access_log=None, keepalive_timeout=90, shutdown_timeout=_SHUTDOWN_SECONDS_MAX
    )
    await runner.setup()
    host, port = parse_address(address)
    try:
        site = web.TCPSite(runner, host or None, port, ssl_context=context)
        try:
            await site.start()
        except OSError as error:
            raise UsageError(
                f"cannot serve webhooks on {address}: {error.strerror or error}.\n"
                "  fix: stop what uses the port, or choose another address (`:0` for any free port)"
            ) from error
        yield f"{host or '127.0.0.1'}:{runner.addresses[0][1]}"
    finally:
        await _close(runner)


async def _close(runner: web.AppRunner) -> None:
    """Answer the requests under way, then close all connections.

    A TLS connection would wait for the other side to say goodbye, longer than the event loop runs.
    """
    server = runner.server
    transports = [each.transport for each in server.connections] if server is not None else []
    await runner.cleanup()
    for transport in transports:
        if transport is not None:
            transport.abort()
    clock = LoopClock()
    for _ in range(_TURNS):
        await clock.sleep(0)  # the event loop closes their sockets


def _answer(status: int, body: object) -> web.Response:
    return web.Response(status=status, body=orjson.dumps(body), content_type=_JSON)
