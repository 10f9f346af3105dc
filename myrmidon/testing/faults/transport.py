"""FaultyTransport: injects the faults that can happen between a controller and its API server.

    faults = Script({3: Lose(), 7: Status(429, retry_after=2)})     # by number of the request
    with Harness(WebApps(), faults=faults) as cluster: ...

``faults`` is any callable that takes a request and returns a fault, or None to let the request
pass.  ``Lose`` finds the most bugs: the server has made the change, and the client does not learn
it.

    before the server acts     Refuse, Status, Delay, Hang
    after the server acted     Lose, Truncate
    in a watch                 Cut, Break, Stall, Expire        each after some lines
    in the process itself      Crash                            before or after the server acts
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

import orjson

from myrmidon.api.clock import Clock
from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream, Transport
from myrmidon.errors import AmbiguousError, UnreachableError
from myrmidon.io.timers.clock import LoopClock

# ----------------------------------------------------------------------- the faults


@dataclass(frozen=True, slots=True)
class Refuse:
    """The connection is refused; the request does not reach the server."""


@dataclass(frozen=True, slots=True)
class Lose:
    """The server carries out the request, and its answer is lost."""


@dataclass(frozen=True, slots=True)
class Truncate:
    """The server carries out the request, and only the first half of its answer arrives."""


@dataclass(frozen=True, slots=True)
class Status:
    """The request is answered with this status code and does not reach the server.

    As a proxy would answer, or an overloaded server.
    """

    code: int
    reason: str = ""
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Delay:
    """The request is sent after so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hang:
    """The request does not reach the server, and fails when its deadline is over."""


@dataclass(frozen=True, slots=True)
class Crash:
    """The process of the controllers is killed before the server acts, or with ``acted`` after it.

    None of its later requests reaches the server, until ``Harness.restart``.
    """

    acted: bool = False


@dataclass(frozen=True, slots=True)
class Cut:
    """A watch ends normally after so many lines."""

    lines: int = 0


@dataclass(frozen=True, slots=True)
class Break:
    """The connection of a watch is reset after so many lines, in the middle of the next."""

    lines: int = 0


@dataclass(frozen=True, slots=True)
class Stall:
    """A watch stays open after so many lines, but delivers no more."""

    lines: int = 0


@dataclass(frozen=True, slots=True)
class Expire:
    """A watch ends after so many lines with 410 Expired: its resourceVersion is compacted."""

    lines: int = 0


SendFault: TypeAlias = Refuse | Lose | Truncate | Status | Delay | Hang | Crash
WatchFault: TypeAlias = Cut | Break | Stall | Expire
Fault: TypeAlias = SendFault | WatchFault
Faults: TypeAlias = Callable[[HttpRequest], Fault | None]


class Script:
    """Faults by the number of the request: 1 is the first one that ``counts`` accepts."""

    def __init__(
        self,
        faults: Mapping[int, Fault],
        counts: Callable[[HttpRequest], bool] = lambda _request: True,
    ) -> None:
        self._faults, self._counts = faults, counts
        self.requests = 0

    def __call__(self, request: HttpRequest) -> Fault | None:
        """Return the fault for this request, None to let it pass."""
        if not self._counts(request):
            return None
        self.requests += 1
        return self._faults.get(self.requests)


def is_write(request: HttpRequest) -> bool:
    """Whether a request may change the cluster; writes of Events are not counted."""
    return request.method != "GET" and "/events" not in request.path


def is_watch(request: HttpRequest) -> bool:
    """Whether a request opens a watch."""
    return any(name == "watch" for name, _ in request.query)


# -------------------------------------------------------------------- the transport


class FaultyTransport:
    """Forwards requests, with the faults that ``faults`` returns.

    A fault for watches has no effect on another request, and vice versa where it has no meaning.
    After ``die`` every request hangs, including those under way, as if the process had been killed.
    """

    def __init__(self, inner: Transport, faults: Faults, *, clock: Clock | None = None) -> None:
        self._inner, self._faults = inner, faults
        self._clock: Clock = clock or LoopClock()
        self.is_dead = False

    def die(self) -> None:
        """Let every request hang from now on."""
        self.is_dead = True

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send the request, or fail before or after the server carried it out."""
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
        """Open the stream, or fail to, or break it after some lines."""
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
        """Close the inner transport."""
        await self._inner.close()

    async def _before(
        self, request: HttpRequest, fault: Fault | None, deadline: float | None
    ) -> None:
        what = f"{request.method} {request.path}"
        if isinstance(fault, Refuse):
            raise UnreachableError(f"injected before {what}")
        if isinstance(fault, Hang):
            # A watch has no deadline; opening its connection is given up after a minute.
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
    """A complete response in the form of a stream."""

    def __init__(self, response: HttpResponse) -> None:
        self.status, self.headers, self._body = response.status, response.headers, response.body

    async def lines(self) -> AsyncIterator[bytes]:
        yield self._body

    async def read(self) -> bytes:
        return self._body


class _Spoiled:
    """A watch with a fault after some lines."""

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
