"""UnansweredWrites: whether a write of this process may still take effect after it was cancelled.

A leader that releases its lease lets another replica write at once.  A write that was cancelled, or
whose connection broke, may at that moment still be on its way to the server or in its queue, and
would take effect among the writes of the new leader.  This transport records the time of the last
such write, so that the manager can let the lease expire instead of releasing it.
"""

from contextlib import AbstractAsyncContextManager

from myrmidon.api.clock import Clock
from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream, Transport
from myrmidon.errors import UnreachableError

_READS = frozenset({"GET", "HEAD"})


class UnansweredWrites:
    """Passes every request on, and records when a write last ended without an answer."""

    def __init__(self, inner: Transport, clock: Clock) -> None:
        self._inner, self._clock = inner, clock
        self._under_way = 0
        self._last_at = float("-inf")

    def settled_since(self, seconds: float) -> bool:
        """Whether no write is under way, and every write of the last ``seconds`` was answered."""
        return not self._under_way and self._clock.monotonic() - self._last_at >= seconds

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send a request; record the time if a write may have been sent and gets no answer."""
        if request.method in _READS:
            return await self._inner.send(request, deadline=deadline)
        self._under_way += 1
        try:
            return await self._inner.send(request, deadline=deadline)
        except UnreachableError:  # the write was not sent
            raise
        except BaseException:
            self._last_at = self._clock.monotonic()
            raise
        finally:
            self._under_way -= 1

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[ResponseStream]:
        """Open a stream.  A watch is a read, so it is not recorded."""
        return self._inner.stream(request)

    async def close(self) -> None:
        """Close the inner transport."""
        await self._inner.close()
