"""Gate: the transport of one incarnation of a process, where the faults of a plan happen.

A request goes through these steps:

1. The director counts it and says which faults are due.
2. Faults of the world (a user's edit, a lag, a lost lease) happen before the request arrives.
3. The request is lost, refused or passed to the server; the process may die before or after.
4. The answer is returned, delayed, or replaced by an error although the server has acted.

A watch is read event by event: the view of the process says up to which revision, and a fault may
end, expire, stall or repeat it, or kill the process, at each event.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson

from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream
from myrmidon.apiserver.fronts.waiting import (
    BOOKMARK_BEFORE_END_SECONDS,
    BOOKMARK_SECONDS,
    WATCH_SECONDS_DEFAULT,
    answer,
)
from myrmidon.apiserver.requests.call import Draws
from myrmidon.apiserver.requests.watches import OpenWatch
from myrmidon.apiserver.store import StoredChange
from myrmidon.errors import AmbiguousError
from myrmidon.testing.harness.turns import Alarm
from myrmidon.testing.simulation.actions import Action
from myrmidon.testing.simulation.director import STORM_MAX
from myrmidon.testing.simulation.requests import RequestSubject
from myrmidon.testing.simulation.stage import Stage, StageProcess
from myrmidon.testing.simulation.staleness import StaleView
from myrmidon.testing.simulation.trace import Delivered, Exchanged

_AT_REQUEST = frozenset({"crash", "lost", "applied_then", "reply"})
_TIMEOUT_SECONDS = 30.0
_REASONS = {
    400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict",
    410: "Expired", 413: "RequestEntityTooLarge", 422: "Invalid", 429: "TooManyRequests",
    500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout",
}  # fmt: skip


class Gate:
    """The connection of one incarnation to the server."""

    def __init__(self, run: Stage, process: StageProcess, incarnation: int) -> None:
        self._run, self._process, self._incarnation = run, process, incarnation
        self._before = 0

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send a request, with the faults that are due at it."""
        run, process = self._run, self._process
        run.refuse_if_over()
        issued = (run.loop.time(), process.renewed_at, process.is_deposed)
        subject = run.describer.describe(request)
        fault = None
        due = run.director.at_request(subject)
        if subject.counts and run.director.is_storm(subject, request):
            run.fail("O7", f"storm of {subject.kind}", f"{subject} was sent {STORM_MAX} times")
            await asyncio.Event().wait()  # the process has failed; more of the same says no more
        if due:
            fault = self._faults(due, subject)
            await run.clock.sleep(0)  # a step of the user is made before the request arrives
        if run.loop.is_paused(self._incarnation):
            await run.clock.sleep(0)  # goes on when the process does
        latency = process.latency(run.loop.time()) + run.schedule.request_delay()
        allowed = _TIMEOUT_SECONDS if deadline is None else deadline
        if latency:
            await run.clock.sleep(min(latency, allowed) / 2)
        process.issued = issued  # the server acts before any other request of the process
        response = await self._exchange(request, subject, fault, deadline)
        if latency:
            await run.clock.sleep(min(latency, allowed) / 2)
        if latency > allowed:
            raise AmbiguousError(f"no answer to {request.method} {request.path} in time")
        return response

    async def _exchange(
        self,
        request: HttpRequest,
        subject: RequestSubject,
        fault: Action | None,
        deadline: float | None,
    ) -> HttpResponse:
        run, seconds = self._run, _TIMEOUT_SECONDS if deadline is None else deadline
        self._before = run.server.store.revision
        kind = fault.kind if fault is not None else ""
        if kind == "crash" and fault is not None and fault.how == "before":
            self._note(request, subject, "not sent: the process was killed", None)
            await self._die(fault)
        if kind == "lost":
            self._note(request, subject, "lost", None)
            await run.clock.sleep(seconds)
            raise AmbiguousError(f"no answer to {request.method} {request.path}")
        asked = self._asked(request, subject, fault)
        if isinstance(asked, HttpResponse):
            self._note(request, subject, str(asked.status), asked)
            return asked
        writer = (self._process.name, self._process.number, self._incarnation)
        response = await run.carry(asked, writer)
        if subject.plural == "leases" and response.status < 300:
            self._learn_lease(subject, response)
        if kind == "crash" and fault is not None:
            self._note(
                request, subject, f"{response.status}, then the process was killed", response
            )
            await self._die(fault)
        if kind == "applied_then" and fault is not None:
            said = "an error" if fault.how == "500" else f"a {fault.how}"
            self._note(request, subject, f"{response.status}, but {said} arrived", response)
            if fault.how == "500":
                return _status(500)
            if fault.how == "timeout":
                await run.clock.sleep(seconds)
            raise AmbiguousError(f"no answer to {request.method} {request.path}")
        self._note(request, subject, str(response.status), response)
        return response

    def _learn_lease(self, subject: RequestSubject, response: HttpResponse) -> None:
        """Note what the process learns of its Lease from an answer, for O12."""
        process = self._process
        if subject.is_write:
            process.renewed_at = self._run.loop.time()
        spec = orjson.loads(response.body).get("spec") or {}
        process.is_deposed = spec.get("holderIdentity") not in (None, "", process.name)

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[ResponseStream]:
        """Open a watch, with the faults that are due."""
        run, process = self._run, self._process
        run.refuse_if_over()
        subject = run.describer.describe(request)
        due = run.director.at_request(subject)
        fault = self._faults(due, subject) if due else None
        if fault is not None and fault.kind == "crash":
            await self._die(fault)
        if fault is not None and fault.kind in ("lost", "applied_then"):
            raise AmbiguousError(f"no answer to {request.method} {request.path}")
        refusal = process.refusal(subject, run.loop.time())
        if fault is not None and fault.kind == "reply":
            refusal = (int(fault.how), fault.seconds)
        now, store = run.loop.time(), run.server.store
        opening = process.interruptions.at_opening(subject, request, now, store)
        if opening == "refused":
            raise AmbiguousError(f"no connection for {request.method} {request.path}")
        if opening in ("gone", "422"):
            refusal = (410 if opening == "gone" else 422, 0.0)
        if refusal is not None:
            yield _Whole(_status(*refusal))
            return
        if opening:
            body = _expired_event() if opening == "expired" else b""
            yield _Whole(HttpResponse(200, (), body))
            return
        request = self._dated(request, subject)
        outcome = run.server.answer(request, None, Draws(run.server.core.environment))
        opened = await answer(run.server, request, None, outcome)
        if isinstance(opened, HttpResponse):
            self._note(request, subject, str(opened.status), None)
            yield _Whole(opened)
        else:
            self._note(request, subject, "200", None)
            yield _Watch(run, process, self._incarnation, subject, opened)

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    # ----------------------------------------------------------------------------- inside

    def _faults(self, due: list[int], subject: RequestSubject) -> Action | None:
        """Let the faults of the world happen; return the one that concerns this request."""
        chosen: Action | None = None
        for index in due:
            action = self._run.director.plan.faults[index].action
            if action.kind in _AT_REQUEST:
                chosen = chosen or action
                self._run.director.mark(index)
                self._run.note_fault(action, subject)
            else:
                self._run.disturb(index, action, self._process, subject)
        return chosen

    def _asked(
        self, request: HttpRequest, subject: RequestSubject, fault: Action | None
    ) -> HttpRequest | HttpResponse:
        """Return the request as the server gets it, or the answer that refuses it."""
        refusal = self._process.refusal(subject, self._run.loop.time())
        if fault is not None and fault.kind == "reply":
            refusal = (int(fault.how), fault.seconds)
        if refusal is not None:
            return _status(*refusal)
        if subject.verb != "list":
            return self._dated(request, subject)
        paged = self._process.interruptions.at_list(subject.kind, request)
        return _status(410) if paged is None else self._dated(paged, subject)

    async def _die(self, fault: Action) -> None:
        self._process.crash(down=fault.seconds)
        await asyncio.Event().wait()  # the code of a dead process never runs again

    def _dated(self, request: HttpRequest, subject: RequestSubject) -> HttpRequest:
        """Return the request; one that accepts data of any age gets those of the stale view."""
        if request.method != "GET" or ("resourceVersion", "0") not in request.query:
            return request
        return self._process.dated(request, subject)

    def _note(
        self,
        request: HttpRequest,
        subject: RequestSubject,
        outcome: str,
        answered: HttpResponse | None,
    ) -> None:
        run = self._run
        run.trace.entries.append(
            Exchanged(
                run.loop.time(),
                self._process.number,
                self._incarnation,
                subject,
                request,
                outcome,
                answered,
                run.server.store.revision,
                self._before,
            )
        )


class _Whole:
    """A complete response in the form of a stream."""

    def __init__(self, response: HttpResponse) -> None:
        self.status, self.headers, self._body = response.status, response.headers, response.body

    async def lines(self) -> AsyncIterator[bytes]:
        for line in self._body.splitlines():
            yield line

    async def read(self) -> bytes:
        return self._body


class _Watch:
    """A watch of one process, read as fast as its view allows."""

    status = 200

    def __init__(
        self,
        run: Stage,
        process: StageProcess,
        incarnation: int,
        subject: RequestSubject,
        watch: OpenWatch,
    ) -> None:
        self._run, self._process, self._incarnation = run, process, incarnation
        self._kind, self._watch = subject.kind, watch
        self._stream = run.director.requests
        self._subject = subject
        self._opened_at, self._last = run.loop.time(), b""
        self.headers = watch.headers

    async def read(self) -> bytes:
        return b"".join([line + b"\n" async for line in self.lines()])

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the events as they are delivered."""
        run, watch, loop = self._run, self._watch, self._run.loop
        view = self._process.view(self._kind)
        ends_at = loop.time() + (watch.seconds or WATCH_SECONDS_DEFAULT)
        bookmark_at = min(loop.time() + BOOKMARK_SECONDS, ends_at - BOOKMARK_BEFORE_END_SECONDS)
        changed = asyncio.Event()
        stops = (run.server.store.listen(changed.set, watch.resource), view.follow(changed.set))
        self._process.streams.append(stops)
        alarm = Alarm(loop, changed.set)
        try:
            while True:
                changed.clear()
                until, next_at = view.limit(run.trace.commits, loop.time())
                taken = await self._taken(until)
                for line in taken or ():
                    for shown in await self._delivered(line):
                        if shown is None:
                            return
                        yield shown
                if until is not None and view.noticed is not None:
                    _notice(view, run.server.store.changes(watch.resource, after=watch.cursor))
                now = loop.time()
                if taken is None or watch.over or now >= ends_at:
                    return
                if now >= bookmark_at:
                    bookmark = watch.bookmark() if until is None else None
                    if bookmark is not None:
                        yield bookmark
                    bookmark_at = min(now + BOOKMARK_SECONDS, ends_at)
                alarm.set(min(bookmark_at, ends_at, next_at))
                await changed.wait()
        finally:
            alarm.stop()
            for stop in stops:
                stop()

    async def _taken(self, until: int | None) -> list[bytes] | None:
        """Return the events that arrive now; None if the watch was cut."""
        run, process = self._run, self._process
        if process.interruptions.ends(self._kind, self._opened_at):
            return None
        taken = self._watch.take(until)
        delay = run.schedule.event_delay(process.number, self._kind) if taken else 0.0
        if delay:
            await run.clock.sleep(delay)
        return taken

    async def _delivered(self, line: bytes) -> list[bytes | None]:
        """Return what arrives in place of an event; None ends the watch."""
        run, process = self._run, self._process
        if line.startswith(b'{"type":"BOOKMARK"'):
            return [line]
        arrived: list[bytes | None] = [line]
        due = run.director.at_event(self._kind)
        for index in due:
            action = run.director.plan.faults[index].action
            match action.kind, action.how:
                case "watch", how:
                    run.director.mark(index)
                    run.note_fault(action, self._subject)
                    arrived = await self._spoiled(line, how)
                case "crash", _:
                    run.director.mark(index)
                    run.note_fault(action, self._subject)
                    process.crash(down=action.seconds)
                    await asyncio.Event().wait()
                case _:
                    run.disturb(index, action, process, self._subject)
        pending = process.next_watch_fault(self._kind)
        if pending is not None:
            arrived = await self._spoiled(line, pending)
        if run.loop.is_paused(self._incarnation):
            await run.clock.sleep(0)
        run.trace.entries.append(
            Delivered(
                run.loop.time(), process.number, self._incarnation, self._kind, line, self._stream
            )
        )
        self._last = line
        return arrived

    async def _spoiled(self, line: bytes, how: str) -> list[bytes | None]:
        match how:
            case "eof":
                return [line, None]
            case "410":
                return [_expired_event(), None]
            case "cut":
                return [line[: len(line) // 2], None]
            case "replay":
                return [line, self._last or line]
            case "gone" | "empty":
                self._process.interruptions.spoil_opening(self._kind, how)
                return [line, None]
            case "stall":
                self._process.is_stalled = True
                await asyncio.Event().wait()
                return []
            case _:
                return [line, line]


def _notice(view: StaleView, kept_back: list[StoredChange]) -> None:
    if kept_back and view.noticed is not None:
        noticed, view.noticed = view.noticed, None
        noticed()


def _status(code: int, retry_after: float = 0.0) -> HttpResponse:
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)
    if retry_after:
        headers = (*headers, ("retry-after", f"{retry_after:g}"))
    return HttpResponse(code, headers, orjson.dumps(_problem(code)))


def _expired_event() -> bytes:
    return orjson.dumps({"type": "ERROR", "object": _problem(410)})


def _problem(code: int) -> dict[str, object]:
    return {
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "injected",
        "reason": _REASONS.get(code, ""), "code": code,
    }  # fmt: skip
