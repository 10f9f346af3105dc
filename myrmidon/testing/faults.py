"""FaultyTransport: everything that can go wrong between a controller and its API server.

    faults = Script({3: Lose(), 7: Status(429, retry_after=2)})     # by number of the request
    with Harness(WebApps(), faults=faults) as cluster: ...

Whoever decides is a callable: it is given each request and returns a fault, or None to let the
request pass.  ``Lose`` is the one that finds bugs: the server has acted, and we are told nothing.

    before the server    Refuse, Status, Delay, Hang
    after the server     Lose, Truncate
    in a watch           Cut, Break, Stall, Expire        each after some lines
    of ourselves         Crash                            before or after the server acts
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

import orjson

from myrmidon.api.clock import Clock
from myrmidon.api.wire import HttpRequest, HttpResponse, ResponseStream, Transport
from myrmidon.errors import AmbiguousError, UnreachableError
from myrmidon.io.timers.clock import LoopClock

# ----------------------------------------------------------------------- the faults


@dataclass(frozen=True, slots=True)
class Refuse:
    """The connection is refused: nothing was sent."""


@dataclass(frozen=True, slots=True)
class Lose:
    """The server acts, and its answer is lost."""


@dataclass(frozen=True, slots=True)
class Truncate:
    """The server acts, and only the beginning of its answer arrives."""


@dataclass(frozen=True, slots=True)
class Status:
    """An answer that the server did not give: a proxy's, or that of a server in trouble."""

    code: int
    reason: str = ""
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Delay:
    """The request takes its time and then succeeds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hang:
    """The request is never answered, and the server never sees it."""


@dataclass(frozen=True, slots=True)
class Crash:
    """The process of the controllers is killed: before the server acts, or with ``acted`` just after.

    What it sends from then on reaches nobody, until ``Harness.restart``.
    """

    acted: bool = False


@dataclass(frozen=True, slots=True)
class Cut:
    """A watch ends in good order after some lines."""

    lines: int = 0


@dataclass(frozen=True, slots=True)
class Break:
    """A watch breaks in the middle of a line."""

    lines: int = 0


@dataclass(frozen=True, slots=True)
class Stall:
    """A watch stays open and says nothing more."""

    lines: int = 0


@dataclass(frozen=True, slots=True)
class Expire:
    """A watch says that its version is compacted away."""

    lines: int = 0


SendFault: TypeAlias = Refuse | Lose | Truncate | Status | Delay | Hang | Crash
WatchFault: TypeAlias = Cut | Break | Stall | Expire
Fault: TypeAlias = SendFault | WatchFault
Faults: TypeAlias = Callable[[HttpRequest], Fault | None]


class Script:
    """Faults by number of the request, counted from 1 over all that ``counts`` accepts."""

    def __init__(
        self,
        faults: Mapping[int, Fault],
        counts: Callable[[HttpRequest], bool] = lambda _request: True,
    ) -> None:
        self._faults, self._counts = faults, counts
        self.requests = 0

    def __call__(self, request: HttpRequest) -> Fault | None:
        """The fault of this request."""
        if not self._counts(request):
            return None
        self.requests += 1
        return self._faults.get(self.requests)


def is_write(request: HttpRequest) -> bool:
    """Whether a request could change anything; Events about objects are gossip and do not count."""
    return request.method != "GET" and "/events" not in request.path


def is_watch(request: HttpRequest) -> bool:
    """Whether a request opens a watch."""
    return any(name == "watch" for name, _ in request.query)


# -------------------------------------------------------------------- the transport


class FaultyTransport:
    """Passes requests on, except where ``faults`` says otherwise.

    A fault for watches that meets another request lets it pass, and the other way round where it
    has no meaning.  ``die`` makes every request hang from then on, those under way included: what
    a process that was killed sends.
    """

    def __init__(self, inner: Transport, faults: Faults, *, clock: Clock | None = None) -> None:
        self._inner, self._faults = inner, faults
        self._clock: Clock = clock or LoopClock()
        self.is_dead = False

    def die(self) -> None:
        """Answer nothing any more."""
        self.is_dead = True

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send, or fail before sending, or fail after sending."""
        if self.is_dead:
            await _never()
        fault = self._faults(request)
        if isinstance(fault, Crash):
            self.die()
            fault = Lose() if fault.acted else None
        if self.is_dead and not isinstance(fault, Lose):
            await _never()
        await self._before(request, fault, deadline)
        if isinstance(fault, Status):
            return _status(fault)
        response = await self._inner.send(request, deadline=deadline)
        if self.is_dead:
            await _never()
        if isinstance(fault, Lose):
            raise AmbiguousError(f"injected after {request.method} {request.path}")
        if isinstance(fault, Truncate):
            body = response.body[: len(response.body) // 2]
            return HttpResponse(response.status, response.headers, body)
        return response

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[ResponseStream]:
        """Open a stream, or fail to, or spoil what comes."""
        if self.is_dead:
            await _never()
        fault = self._faults(request)
        await self._before(request, fault, None)
        if isinstance(fault, Status):
            yield _Answered(_status(fault))
            return
        if isinstance(fault, Lose):
            raise AmbiguousError(f"injected after {request.method} {request.path}")
        async with self._inner.stream(request) as response:
            if isinstance(fault, Cut | Break | Stall | Expire):
                yield _Spoiled(response, fault)
            else:
                yield response

    async def close(self) -> None:
        """Close what is behind."""
        await self._inner.close()

    async def _before(
        self, request: HttpRequest, fault: Fault | None, deadline: float | None
    ) -> None:
        what = f"{request.method} {request.path}"
        if isinstance(fault, Refuse):
            raise UnreachableError(f"injected before {what}")
        if isinstance(fault, Hang):
            # A watch has no deadline of its own; a connection that never begins is given up.
            await self._clock.sleep(60.0 if deadline is None else deadline)
            raise AmbiguousError(f"no answer to {what}")
        if isinstance(fault, Delay):
            await self._clock.sleep(fault.seconds)


def _status(fault: Status) -> HttpResponse:
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)
    if fault.retry_after is not None:
        headers = (*headers, ("retry-after", f"{fault.retry_after:g}"))
    return HttpResponse(fault.code, headers, orjson.dumps(_problem(fault.code, fault.reason)))


def _problem(code: int, reason: str) -> dict[str, object]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": "injected",
        "reason": reason,
        "code": code,
    }


async def _never() -> None:
    await asyncio.Event().wait()


class _Answered:
    """A response that has ended, where a stream was asked for."""

    def __init__(self, response: HttpResponse) -> None:
        self.status, self.headers, self._body = response.status, response.headers, response.body

    async def lines(self) -> AsyncIterator[bytes]:
        yield self._body

    async def read(self) -> bytes:
        return self._body


class _Spoiled:
    """A watch that goes wrong after some lines."""

    def __init__(self, inner: ResponseStream, fault: WatchFault) -> None:
        self._inner, self._fault = inner, fault
        self.status, self.headers = inner.status, inner.headers

    async def lines(self) -> AsyncIterator[bytes]:
        left = self._fault.lines
        if left == 0:
            async for line in self._spoil(b"{}"):
                yield line
            return
        async for line in self._inner.lines():
            if left == 0:
                async for last in self._spoil(line):
                    yield last
                return
            left -= 1
            yield line

    async def read(self) -> bytes:
        return await self._inner.read()

    async def _spoil(self, line: bytes) -> AsyncIterator[bytes]:
        match self._fault:
            case Cut():
                return
            case Break():
                yield line[: len(line) // 2]
                raise AmbiguousError("injected: the connection was reset")
            case Stall():
                await _never()
            case Expire():
                yield orjson.dumps({"type": "ERROR", "object": _problem(410, "Expired")})
