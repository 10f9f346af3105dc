"""K8: every wait of a reflector has a limit, wherever a server can stop responding."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import orjson
import pytest

from myrmidon.api.objects.kinds import CONFIG_MAP
from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream
from myrmidon.errors import AmbiguousError, ApiError, ExpiredError, ForbiddenError
from myrmidon.io.client import Client
from myrmidon.io.lists.scope import Scope
from myrmidon.io.timers.clock import LoopClock
from myrmidon.io.watch.protocol import Timing
from myrmidon.testing.harness.clock import run
from tests.io.watch.poison import END, Bytes, Reflected, added, good, list_of

REQUEST = Scope(CONFIG_MAP).watch_request("5", timeout_seconds=60)


async def _never() -> None:
    await asyncio.Event().wait()


class Stalled:
    """A server that sends some headers of a stream, or none, and nothing more."""

    def __init__(self, status: int | None) -> None:
        self.status, self.hung_up = status, 0

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Not used."""
        raise NotImplementedError

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[ResponseStream]:
        """Begin to respond."""
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: HttpRequest) -> AsyncIterator[ResponseStream]:
        if self.status is None:
            await _never()
        try:
            yield _Silence(self.status or 0)
        finally:
            self.hung_up += 1

    async def close(self) -> None:
        """Nothing to close."""


class _Silence:
    def __init__(self, status: int) -> None:
        self.status = status
        self.headers: tuple[tuple[str, str], ...] = ()

    async def lines(self) -> AsyncIterator[bytes]:
        await _never()
        yield b""

    async def read(self) -> bytes:
        await _never()
        return b""


@pytest.mark.parametrize(
    ("status", "error"), [(None, AmbiguousError), (403, ForbiddenError), (410, ExpiredError)]
)
def test_a_stream_begins_within_the_deadline(status: int | None, error: type[Exception]) -> None:
    """No headers, or a refusal without its body; the status is reported in any case."""
    transport = Stalled(status)

    async def main() -> float:
        clock = LoopClock()
        began_at = clock.monotonic()
        client = Client(transport, clock=clock, deadline_seconds=30.0)
        with pytest.raises(error):
            async with client.stream(REQUEST):
                pass
        return clock.monotonic() - began_at

    assert run(main()) == pytest.approx(30.0)
    assert transport.hung_up == (0 if status is None else 1)


def test_a_refusal_that_breaks_off_is_a_refusal() -> None:
    """The status is known; only the message is lost."""

    class Breaking(Stalled):
        @asynccontextmanager
        async def _stream(self, request: HttpRequest) -> AsyncIterator[ResponseStream]:
            yield _Broken(429)

    class _Broken(_Silence):
        async def read(self) -> bytes:
            raise AmbiguousError("reset")

    async def main() -> None:
        with pytest.raises(ApiError) as caught:
            async with Client(Breaking(429)).stream(REQUEST):
                pass
        assert caught.value.status == 429

    run(main())


class StallsOnce(Bytes):
    """The first watch is refused with a body that never comes; all others work."""

    def __init__(self, status: int | None) -> None:
        super().__init__(list_of(good("a")), lines=[added(good("later", 2000))])
        self.stalled: Stalled | None = Stalled(status)

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[ResponseStream]:
        """Stall, once."""
        stalled, self.stalled = self.stalled, None
        return super().stream(request) if stalled is None else stalled.stream(request)


@pytest.mark.parametrize("status", [None, 200, 403, 429, 500])
def test_a_watch_that_stalls_does_not_hang_the_reflector(status: int | None) -> None:
    """K4: the next watch is opened, and the events since then are seen."""
    reflected = Reflected(StallsOnce(status))
    run(reflected.runs_for(Timing().idle_seconds + 60.0))
    assert reflected.names() == ["a", "later"]


class Slow(Bytes):
    """A streaming list that sends an object every ten seconds."""

    def __init__(self, objects: int, *, pause: float = 10.0) -> None:
        super().__init__(list_of(), streaming=True)
        self.objects, self.pause, self.opened = objects, pause, 0

    @asynccontextmanager
    async def _stream(self, request: HttpRequest) -> AsyncIterator[ResponseStream]:
        self.opened += 1
        yield _Trickle(self.objects, self.pause)


class _Trickle(_Silence):
    def __init__(self, objects: int, pause: float) -> None:
        super().__init__(200)
        self._objects, self._pause = objects, pause

    async def lines(self) -> AsyncIterator[bytes]:
        for number in range(self._objects):
            await asyncio.sleep(self._pause)  # noqa: TID251  virtual time
            yield added(good(f"o{number:03}", 100 + number))
        yield END
        await _never()


def test_a_slow_streaming_list_is_not_restarted() -> None:
    """Five minutes in all, and never more than ten seconds without an object: it completes."""
    reflected = Reflected(Slow(30))
    run(reflected.runs_for(350.0))
    assert len(reflected.names()) == 30
    assert isinstance(reflected.transport, Slow)
    assert reflected.transport.opened == 1


def test_a_streaming_list_that_makes_no_progress_is_read_in_pages() -> None:
    """An endless sequence of bookmarks is not progress."""
    mark = orjson.dumps({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "5"}}})

    class Marking(Slow):
        @asynccontextmanager
        async def _stream(self, request: HttpRequest) -> AsyncIterator[ResponseStream]:
            if "sendInitialEvents" in dict(request.query):
                yield _Marks(0, 10.0)
            else:
                yield _Silence(200)

    class _Marks(_Trickle):
        async def lines(self) -> AsyncIterator[bytes]:
            while True:
                await asyncio.sleep(self._pause)  # noqa: TID251  virtual time
                yield mark

    transport = Marking(0)
    transport.lists = [HttpResponse(200, (), list_of(good("a")))]
    reflected = Reflected(transport)
    run(reflected.runs_for(Timing().progress_seconds + 30.0))
    assert reflected.names() == ["a"]
