"""healthz, readyz and metrics over HTTP.

``healthz`` says that the process turns; ``readyz`` that its caches are in sync and fresh, and lists
each of them; a standby is ready, because it could lead at once.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from myrmidon.errors import UsageError
from myrmidon.runtime.metrics.exposition import exposition
from myrmidon.runtime.metrics.families import Metrics
from myrmidon.runtime.snapshot import ObjectView, Wrote

Check = Callable[[], str | None]
"""None when all is well, else what is wrong."""


def health_routes(ready: Callable[[], Mapping[str, str | None]]) -> web.RouteTableDef:
    """The probes; ``ready`` names every check with what is wrong, None if nothing is."""
    routes = web.RouteTableDef()

    @routes.get("/healthz")
    @routes.get("/livez")
    async def alive(_request: web.Request) -> web.Response:
        return web.Response(text="ok")

    @routes.get("/readyz")
    async def is_ready(_request: web.Request) -> web.Response:
        checks = ready()
        lines = [
            f"[+]{name} ok" if problem is None else f"[-]{name} failed: {problem}"
            for name, problem in checks.items()
        ]
        failed = any(problem is not None for problem in checks.values())
        lines.append("readyz check failed" if failed else "readyz check passed")
        return web.Response(text="\n".join(lines) + "\n", status=503 if failed else 200)

    return routes


def trace_routes(view: Callable[[str, str], ObjectView | None]) -> web.RouteTableDef:
    """Why and how the last pass over an object ran: ``/passes/WebApp/default/shop``."""
    routes = web.RouteTableDef()

    @routes.get("/passes/{kind}/{key:.+}")
    async def last_pass(request: web.Request) -> web.Response:
        one = view(request.match_info["kind"], request.match_info["key"])
        if one is None:
            return web.json_response({"message": "no pass is remembered"}, status=404)
        return web.json_response(
            {
                "passes": one.passes,
                "endedAt": one.ended_at.isoformat() if one.ended_at else None,
                "againAt": one.again_at.isoformat() if one.again_at else None,
                "causes": list(one.causes),
                "path": [step.state for step in one.path],
                "writes": [_told(wrote) for wrote in one.writes],
            }
        )

    return routes


def _told(wrote: Wrote) -> str:
    return f"{wrote}, refused: {wrote.error}" if wrote.error else str(wrote)


def metrics_routes(metrics: Metrics, refresh: Callable[[], None]) -> web.RouteTableDef:
    """The metrics; ``refresh`` sets what is only known at the moment of asking."""
    routes = web.RouteTableDef()

    @routes.get("/metrics")
    async def scrape(request: web.Request) -> web.StreamResponse:
        refresh()
        response = web.StreamResponse(headers={"Content-Type": CONTENT_TYPE_LATEST})
        await response.prepare(request)
        async for text in exposition(metrics):
            await response.write(text)
        return response

    return routes


@asynccontextmanager
async def serving(address: str, *routes: web.RouteTableDef) -> AsyncIterator[str]:
    """Serve routes at ``host:port`` or ``:port``; yields the address that it became."""
    application = web.Application()
    for table in routes:
        application.add_routes(table)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    host, port = parse_address(address)
    try:
        site = web.TCPSite(runner, host or None, port)
        try:
            await site.start()
        except OSError as error:
            raise UsageError(
                f"cannot listen on {address}: {error.strerror or error}.\n"
                "  fix: stop what uses the port, or choose another address (`:0` for any free port)"
            ) from error
        bound = runner.addresses[0]
        yield f"{host or '127.0.0.1'}:{bound[1]}"
    finally:
        await runner.cleanup()


def parse_address(address: str) -> tuple[str, int]:
    """Split ``host:port``; the host may be left out."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise UsageError(
            f"{address!r} is not an address to listen on.\n  fix: write :8080 or 127.0.0.1:8080"
        )
    return host.strip("[]"), int(port)
