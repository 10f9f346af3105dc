"""The server of the live page: its routes, and the stream of events.

The stream sends what the recorder has since the last event that the browser got.  Each event has the
number of its last pass as its id; a browser that lost the connection sends that id when it comes back,
and gets exactly what it missed.  If some of that is no longer recorded, or the process is another one,
the event ``reset`` tells the page to load everything anew.  When `myrmidon dev` has loaded other code,
the event ``reload`` tells it to load the page itself, because the graphs may be others.

Nothing is pushed: each connection looks at the recorder five times a second.  So a busy process sends
few, larger events, and a pass costs the same whether a page is open or not.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from typing import Any

import orjson
from aiohttp import web

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json
from myrmidon.errors import MyrmidonError, UsageError
from myrmidon.fsm.machine.graph import Graph
from myrmidon.runtime.observability.pass_record import PassRecord
from myrmidon.runtime.observability.recorder import StreamEntry
from myrmidon.runtime.observability.trace import GONE_SECONDS_MAX
from myrmidon.runtime.process.health import parse_address
from myrmidon.ui.access import HEADERS, PageAccess
from myrmidon.ui.actions import ACTIONS, act
from myrmidon.ui.pages.board import Board
from myrmidon.ui.pages.drawings import walked_edges
from myrmidon.ui.pages.markup import page
from myrmidon.ui.pages.object_page import missing, object_page
from myrmidon.ui.pages.overview import overview, phase_words
from myrmidon.ui.recording.recordings import recording_of
from myrmidon.ui.recording.sources import ManagerSource, PageObject, PageSource, walked_id
from myrmidon.ui.recording.stories import graph_of

LOOK_SECONDS = 0.2
VITALS_EVERY = 5  # looks
PASSES_MAX = 500  # of one event
STREAMS_MAX = 32
WALKS_MAX = 1000
_STATIC = {"live.css": "text/css", "live.js": "text/javascript", "icon.svg": "image/svg+xml"}
_OBJECT = "{controller}/{namespace:[^/]*}/{name}"


class LivePage:
    """The pages of one source."""

    def __init__(
        self, source: PageSource, clock: Clock, *, token: str = "", writable: bool = False
    ) -> None:
        """``token`` is needed to see the page; by default a random one.  ``writable`` shows buttons."""
        self._source, self._clock, self._streams = source, clock, 0
        self.token = token or secrets.token_urlsafe(18)
        self._access = PageAccess(self.token)
        self._writable = writable and isinstance(source, ManagerSource)
        self._board, self._number = Board(), -1
        self._loading = asyncio.Lock()
        self._epoch = secrets.token_hex(4)
        self._graphs: dict[str, Graph] = {}
        self._walks: dict[tuple[str, tuple[str, ...]], list[str]] = {}  # the edges of each way
        self._gone: deque[tuple[float, str]] = deque()  # when a row became one of a gone object
        self.closing = False

    def application(self) -> web.Application:
        """Return the application with all routes."""
        application = web.Application(middlewares=[self._guard])
        application.add_routes(
            [
                web.get("/", self._overview),
                web.get("/static/{name}", _static),
                web.get("/board.json", self._board_json),
                web.get("/at/{number:[0-9]+}", self._at),
                web.get("/events", self._events),
                web.get("/export.json", self._export),
                web.get(f"/objects/{_OBJECT}", self._object),
                web.post("/act/{action}/" + _OBJECT, self._act),
            ]
        )
        return application

    # ---------------------------------------------------------------------------- access

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Let only those in who have the token, and put the protecting headers on each answer."""
        try:
            response = await self._admitted(request, handler)
        except web.HTTPException as error:
            error.headers.update(HEADERS)
            raise
        if not response.prepared:
            response.headers.update(HEADERS)
        return response

    async def _admitted(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if request.path.startswith("/static/"):
            return await handler(request)
        port = (request.url.explicit_port or 80) if request.url.host else 80
        cookie = f"myrmidon-page-{port}"
        if self._access.is_token(request.query.get("token", "")):
            response = web.Response(status=303, headers={"Location": request.path})
            response.set_cookie(
                cookie, self._access.cookie, httponly=True, samesite="Strict", path="/"
            )
            return response
        given = request.cookies.get(cookie, "")
        if not self._access.may_see(given, request.headers.get("Authorization", "")):
            return web.Response(status=401, text=_LOCKED)
        return await handler(request)

    # ----------------------------------------------------------------------------- pages

    async def _overview(self, _request: web.Request) -> web.Response:
        if self._source.front is not None:
            return _html(page(self._source.title, self._source.front, source=self._frame()))
        await self._refresh()
        main = overview(
            self._source.machines(), self._board.rows.values(), is_live=self._source.is_live
        )
        data = {"page": "overview", "live": str(self._source.is_live).lower()}
        data["phases"] = orjson.dumps(phase_words()).decode()
        return _html(page("Overview", main, source=self._frame(), data=data))

    async def _object(self, request: web.Request) -> web.Response:
        of = _named(request)
        story = await self._source.story(of)
        machines = {one["controller"]: one for one in self._source.machines()}
        if story is None or of.controller not in machines:
            main = missing("/".join(of))
            return _html(page("Not found", main, source=self._frame()), status=404)
        asked = request.query.get("pass", "")
        main = object_page(
            story,
            machines[of.controller],
            number=int(asked) if asked.isdecimal() else None,
            form_value=self._access.form_value if self._writable else "",
        )
        if "fragment" in request.query:
            return _html(main)
        live = str(self._source.is_live and not asked).lower()
        data = {"page": "object", "id": story["row"]["id"], "live": live}
        title = f"{of.name} ({story['row']['kind']})"
        return _html(page(title, main, source=self._frame(), data=data))

    async def _board_json(self, _request: web.Request) -> web.Response:
        await self._refresh()
        return _json({**self._state(), "rows": [*self._board.rows.values()]})

    async def _at(self, request: web.Request) -> web.Response:
        await self._refresh()
        number, board = int(request.match_info["number"]), Board()
        rows, at = self._source.rows_at(self._board.rows, number)
        board.replace(rows)
        return _json({"rows": rows, "counts": board.counts(), "at": at, "number": number})

    async def _export(self, _request: web.Request) -> web.Response:
        document = await recording_of(self._source, self._clock.now().isoformat())
        response = _json(document)
        response.headers["Content-Disposition"] = 'attachment; filename="recording.json"'
        return response

    async def _act(self, request: web.Request) -> web.Response:
        form = await request.post()
        origin, host = request.headers.get("Origin", ""), request.headers.get("Host", "")
        if not self._writable or not self._access.may_change(
            origin, host, str(form.get("form", ""))
        ):
            raise web.HTTPForbidden(
                text="this page may not change objects, or the form is not its own"
            )
        of, action, source = _named(request), request.match_info["action"], self._source
        assert isinstance(source, ManagerSource), "only a manager is writable"
        if action not in ACTIONS or source.client is None:
            raise web.HTTPNotFound
        try:
            await act(source.client, self._clock, source.ref(of), action, str(form.get("text", "")))
        except MyrmidonError as error:
            raise web.HTTPUnprocessableEntity(text=str(error)) from None
        raise web.HTTPSeeOther(f"/objects/{'/'.join(of)}")

    # ---------------------------------------------------------------------------- stream

    async def _events(self, request: web.Request) -> web.StreamResponse:
        recorder = self._source.recorder
        if recorder is None or self._streams >= STREAMS_MAX:
            raise web.HTTPServiceUnavailable(
                text="no passes are recorded, or too many pages are open"
            )
        response = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream"})
        await response.prepare(request)
        said = request.headers.get("Last-Event-ID") or request.query.get("since", "")
        self._streams += 1
        try:
            with suppress(ConnectionResetError):
                await self._send_all(response, said)
        finally:
            self._streams -= 1
        return response

    async def _send_all(self, response: web.StreamResponse, said: str) -> None:
        epoch, _, text = said.partition(".")
        number = int(text) if epoch == self._epoch and text.isdecimal() else -1
        looks, version = 0, self._source.version
        await response.write(b"retry: 500\n\n")
        while not self.closing:
            if self._source.version != version:
                self._number = -1  # the rows and graphs are those of another manager
                await response.write(self._event("reload", {}))
                return
            recorder = self._source.recorder
            entries = recorder.since(number, PASSES_MAX) if recorder and number >= 0 else None
            if entries is None:
                await self._refresh()
                number = recorder.number if recorder else 0
                await response.write(self._event("reset", self._state(), number))
            elif entries:
                await self._refresh()
                change = {"from": number, "to": entries[-1][0], **self._change(entries)}
                number = entries[-1][0]
                await response.write(self._event("passes", change, number))
            if looks % VITALS_EVERY == 0:
                await response.write(self._event("vitals", self._state()))
            looks += 1
            await self._clock.sleep(LOOK_SECONDS)

    def _event(self, name: str, data: Json, number: int | None = None) -> bytes:
        numbered = f"id: {self._epoch}.{number}\n" if number is not None else ""
        return f"{numbered}event: {name}\ndata: ".encode() + orjson.dumps(data) + b"\n\n"

    def _change(self, entries: Sequence[StreamEntry]) -> Json:
        """Return the rows of the objects that had a pass, and how often each edge was walked."""
        walked: dict[str, dict[str, int]] = {}
        for entry in entries:
            edges = walked.setdefault(entry[2].controller, {})
            for edge in self._edges(entry[2]):
                edges[edge] = edges.get(edge, 0) + 1
        touched = dict.fromkeys(map(walked_id, entries))
        rows = [self._board.rows[one] for one in touched if one in self._board.rows]
        return {"rows": rows, "walked": walked}

    def _edges(self, record: PassRecord) -> list[str]:
        """Return the edges that a pass walked; there are few ways through a graph."""
        key = (record.controller, tuple(visit.state.name for visit in record.visits))
        found = self._walks.get(key)
        if found is None:
            graph = self._graphs.get(record.controller)
            found = walked_edges(graph, key[1]) if graph is not None else []
            if len(self._walks) < WALKS_MAX:
                self._walks[key] = found
        return found

    def _state(self) -> Json:
        past = self._source.past
        return {
            "number": self._number if self._source.is_live else past.last,
            "first": past.first,
            "since": f"{self._epoch}.{self._number}",
            "counts": self._board.counts(),
            "vitals": self._source.vitals(),
        }

    async def _refresh(self) -> None:
        """Bring the rows up to date."""
        async with self._loading:
            recorder = self._source.recorder
            entries = recorder.since(self._number) if recorder and self._number >= 0 else None
            if entries is None:
                self._number = recorder.number if recorder else 0
                self._graphs = {one["controller"]: graph_of(one) for one in self._source.machines()}
                self._walks.clear()
                self._board.replace([row async for row in self._source.rows()])
                return
            for entry in {walked_id(entry): entry for entry in entries}.values():
                row = self._source.row(entry)
                if row is not None:
                    self._put(row)
                self._number = max(self._number, entry[0])

    def _put(self, row: Json) -> None:
        """Set the row of an object, and drop those of objects that have been gone for a while."""
        self._board.put(row)
        now = self._clock.monotonic()
        if row["phase"] == "gone":
            self._gone.append((now, row["id"]))
        while self._gone and now - self._gone[0][0] > GONE_SECONDS_MAX:
            known = self._board.rows.get(self._gone.popleft()[1])
            if known is not None and known["phase"] == "gone":
                self._board.drop(known["id"])

    def _frame(self) -> Json:
        live = self._source.is_live
        return {
            "title": self._source.title,
            "mode": "connecting" if live else "recording",
            "exports": live,
        }


@asynccontextmanager
async def serve_page(live: LivePage, address: str) -> AsyncIterator[str]:
    """Serve a page at ``host:port`` or ``:port``, by default on this machine alone; yield its URL."""
    host, port = parse_address(address)
    host = host or "127.0.0.1"
    runner = web.AppRunner(live.application(), access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise UsageError(
                f"the live page cannot listen on {address}: {error.strerror or error}.\n"
                "  fix: stop what uses the port, or choose another address (`:0` for any free port)"
            ) from error
        shown = f"[{host}]" if ":" in host else host
        yield f"http://{shown}:{runner.addresses[0][1]}"
    finally:
        live.closing = True
        await runner.cleanup()


def _named(request: web.Request) -> PageObject:
    found = request.match_info
    return PageObject(found["controller"], found["namespace"], found["name"])


async def _static(request: web.Request) -> web.Response:
    name = request.match_info["name"]
    if name not in _STATIC:
        raise web.HTTPNotFound
    body = files("myrmidon.ui").joinpath("static", name).read_bytes()
    return web.Response(body=body, content_type=_STATIC[name], charset="utf-8")


def _html(text: str, status: int = 200) -> web.Response:
    return web.Response(text=str(text), content_type="text/html", status=status)


def _json(value: Any) -> web.Response:
    return web.Response(body=orjson.dumps(value), content_type="application/json")


_LOCKED = """This page needs its token.

Open the address that was printed at the start; it contains the token.  After that a cookie is enough.
"""
