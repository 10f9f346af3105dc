"""The HTTP endpoints of a process: probes, metrics, and the last pass of an object.

- ``/healthz`` and ``/livez`` answer 200 as long as the event loop runs.
- ``/readyz`` answers 200 if every cache is in sync and not stale and no task has ended, and lists
  the checks.  A replica that does not lead is ready too, because it could take over at once.
- ``/metrics`` is the Prometheus exposition, as text or OpenMetrics, with the metrics of the user's
  program (``metrics.exposition``).  With ``ManagerOptions.metrics_auth`` it needs a bearer
  token (``metrics.scrape_access``).
- ``/passes/KIND/NAMESPACE/NAME`` exists only with ``ManagerOptions.trace``.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

from aiohttp import web
from prometheus_client import CollectorRegistry

from myrmidon.errors import UsageError
from myrmidon.io.watch.subscriptions import Health
from myrmidon.runtime.metrics.exposition import exposition, format_of, registry_of
from myrmidon.runtime.metrics.families import Metrics
from myrmidon.runtime.metrics.scrape_access import ScrapeAccess
from myrmidon.runtime.observability.snapshot import ObjectView, Wrote, path_text

Check = Callable[[], str | None]
"""Return the problem, None if there is none."""


def health_routes(ready: Callable[[], Mapping[str, str | None]]) -> web.RouteTableDef:
    """Return the routes of the probes; ``ready`` returns the name and the problem of each check."""
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


def cache_checks(healths: Iterable[Health], stale_seconds: float) -> dict[str, str | None]:
    """Return the checks of the caches: a name and the problem, None if the check passes."""
    found: dict[str, str | None] = {}
    for health in healths:
        problem = None
        if not health.is_synced:
            problem = "not in sync"
        elif health.staleness_seconds > stale_seconds:
            problem = f"no message from the server for {health.staleness_seconds:.0f} s"
        if problem is not None and health.fault is not None:
            problem = f"{problem}: {health.fault}"
        found[f"cache {health.scope}"] = problem
    return found


def trace_routes(views: Callable[[str, str], list[ObjectView]]) -> web.RouteTableDef:
    """Return the route that shows the last pass over an object: ``/passes/WebApp/default/shop``."""
    routes = web.RouteTableDef()

    @routes.get("/passes/{kind}/{key:.+}")
    async def last_pass(request: web.Request) -> web.Response:
        found = views(request.match_info["kind"], request.match_info["key"])
        if not found:
            return web.json_response({"message": "no pass of this object is on record"}, status=404)
        first, *others = map(_last_pass, found)
        return web.json_response({**first, "others": others} if others else first)

    return routes


def _last_pass(one: ObjectView) -> dict[str, Any]:
    return {
        "controller": one.controller,
        "passes": one.passes,
        "endedAt": one.ended_at.isoformat() if one.ended_at else None,
        "againAt": one.again_at.isoformat() if one.again_at else None,
        "againFor": one.again_for,
        "causes": list(one.causes),
        "path": [step.state for step in one.path],
        "way": path_text(one.path),
        "writes": [_write_line(wrote) for wrote in one.writes],
    }


def _write_line(wrote: Wrote) -> str:
    return f"{wrote}, refused: {wrote.error}" if wrote.error else str(wrote)


def metrics_routes(
    metrics: Metrics,
    refresh: Callable[[], None],
    access: ScrapeAccess | None = None,
    registry: CollectorRegistry | Literal["default"] | None = None,
) -> web.RouteTableDef:
    """Return the route of the metrics; ``refresh`` is called before each scrape to set gauges.

    ``access`` decides who may scrape; None for everyone who can reach the address.  ``registry`` is
    that of ``ManagerOptions``.  The answer is compressed if the scrape accepts gzip.
    """
    routes = web.RouteTableDef()

    @routes.get("/metrics")
    async def scrape(request: web.Request) -> web.StreamResponse:
        if access is not None:
            refusal = await access.refusal(request.headers.get("Authorization", ""))
            if refusal is not None:
                return web.Response(status=refusal.status, text=refusal.message + "\n")
        refresh()
        form = format_of(request.headers.get("Accept", ""))
        response = web.StreamResponse(headers={"Content-Type": form.content_type})
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            response.enable_compression(web.ContentCoding.gzip)
        await response.prepare(request)
        async for text in exposition(metrics, form, registry_of(registry)):
            await response.write(text)
        return response

    return routes


def endpoints(
    health: str,
    metrics: str,
    probes: Sequence[web.RouteTableDef],
    scrapes: web.RouteTableDef,
) -> dict[str, list[web.RouteTableDef]]:
    """Return which routes are served at which address; none at an empty one.

    One server has the probes and the metrics if their addresses are equal.
    """
    tables: dict[str, list[web.RouteTableDef]] = {}
    if health:
        tables[health] = list(probes)
    if metrics:
        tables.setdefault(metrics, []).append(scrapes)
    return tables


@asynccontextmanager
async def serving(address: str, *routes: web.RouteTableDef) -> AsyncIterator[str]:
    """Serve routes at ``host:port`` or ``:port``; yield the bound address."""
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
    """Return host and port of ``host:port``; the host is "" in ``:port``."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise UsageError(
            f"{address!r} is not an address to listen on.\n  fix: write :8080 or 127.0.0.1:8080"
        )
    return host.strip("[]"), int(port)
