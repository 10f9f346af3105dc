"""A transport without sockets, a clock without waiting, and helpers to run coroutines with them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import orjson

from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream
from myrmidon.errors import AmbiguousError, ApiError, ExpiredError
from myrmidon.io.lists.events import WatchEvent
from tests.io.model_server import ModelServer

START = datetime(2026, 1, 1, tzinfo=UTC)


class FakeClock:
    """Sleeping costs nothing and moves the clock."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []

    def now(self) -> datetime:
        """The time of day."""
        return START + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        """The seconds slept so far."""
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        """Let other tasks run, and advance the clock."""
        self.slept.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)  # noqa: TID251  gives way without waiting


@dataclass
class FakeStream:
    """A stream whose lines a test, or the model server, adds."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    queue: "asyncio.Queue[bytes | Exception | None]" = field(default_factory=asyncio.Queue)

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield lines until None, which ends it; an exception breaks the stream."""
        while (line := await self.queue.get()) is not None:
            if isinstance(line, Exception):
                raise line
            yield line

    async def read(self) -> bytes:
        """Return the body of an error."""
        return self.body


Answer = HttpResponse | Exception


def answer(body: Json, status: int = 200, **headers: str) -> HttpResponse:
    """Build a response with a JSON body."""
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return HttpResponse(status, pairs, orjson.dumps(body))


class ScriptedTransport:
    """Answers with the responses of the script, in order, and records the requests."""

    def __init__(self, *script: Answer) -> None:
        self.script = list(script)
        self.requests: list[HttpRequest] = []

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Return the next response of the script."""
        self.requests.append(request)
        given = self.script.pop(0)
        if isinstance(given, Exception):
            raise given
        return given

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[ResponseStream]:
        """Not used."""
        raise NotImplementedError

    async def close(self) -> None:
        """Nothing to close."""


class ModelTransport:
    """The model server behind a transport, with faults.

    ``faults`` are used up one per request, before the server sees it; None lets one through.
    """

    def __init__(self, server: ModelServer, *, offers_streaming: bool = True) -> None:
        self.server = server
        self.offers_streaming = offers_streaming
        self.faults: list[ApiError | Exception | None] = []
        self.requests: list[HttpRequest] = []
        self.streams: list[FakeStream] = []

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Answer a list."""
        self.requests.append(request)
        await asyncio.sleep(0)  # noqa: TID251  gives way, as a socket would
        if (refused := self._fault()) is not None:
            return refused
        query = dict(request.query)
        try:
            items, version, token = self.server.page(
                query.get("continue", ""), int(query.get("limit", "0"))
            )
        except ExpiredError as error:
            return _refused(error)
        meta = {"resourceVersion": version, "continue": token}
        return answer({"kind": "ConfigMapList", "metadata": meta, "items": items})

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[ResponseStream]:
        """Answer a watch."""
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: HttpRequest) -> AsyncIterator[ResponseStream]:
        self.requests.append(request)
        await asyncio.sleep(0)  # noqa: TID251  gives way, as a socket would
        if (refused := self._fault()) is not None:
            yield FakeStream(refused.status, refused.headers, refused.body)
            return
        query = dict(request.query)
        initial = "sendInitialEvents" in query
        if initial and not self.offers_streaming:
            yield FakeStream(422, body=b'{"kind":"Status","message":"unknown parameter"}')
            return
        stream = FakeStream()
        if initial:
            for name in sorted(self.server.objects):
                self._put(stream, WatchEvent("ADDED", self.server.objects[name]))
            self._put(stream, self.server.bookmark(ends_initial=True))
        else:
            try:
                for event in self.server.events_after(int(query["resourceVersion"])):
                    self._put(stream, event)
            except ExpiredError:
                self._put(stream, WatchEvent("ERROR", {"kind": "Status", "code": 410}))
        self.streams.append(stream)
        try:
            yield stream
        finally:
            self.streams.remove(stream)

    async def close(self) -> None:
        """Nothing to close."""

    def deliver(self) -> None:
        """Send the last event to every open watch."""
        for stream in self.streams:
            self._put(stream, self.server.history[-1][1])

    def end_streams(self, how: Exception | None = None) -> None:
        """End every open watch."""
        for stream in self.streams:
            stream.queue.put_nowait(how)

    def _put(self, stream: FakeStream, event: WatchEvent) -> None:
        stream.queue.put_nowait(orjson.dumps({"type": event.type, "object": event.object}))

    def _fault(self) -> HttpResponse | None:
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, ApiError):
            return _refused(fault)
        if fault is not None:
            raise fault
        return None


def _refused(error: ApiError) -> HttpResponse:
    body = {"kind": "Status", "code": error.status, "reason": error.reason, "message": "no"}
    return answer(body, error.status)


async def until(condition: Callable[[], bool]) -> None:
    """Let the other tasks run until ``holds`` is true; a test that hangs fails here."""
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0)  # noqa: TID251  gives way without waiting
    raise AssertionError("it never came to be")


async def beside(loop: Awaitable[object], check: Awaitable[None]) -> None:
    """Run a check beside an endless loop, then cancel the loop."""
    async with asyncio.TaskGroup() as group:

        async def run() -> None:
            await loop

        task = group.create_task(run())
        await check
        task.cancel()


def broken() -> AmbiguousError:
    """Return what a transport raises when a connection breaks."""
    return AmbiguousError("connection reset")
