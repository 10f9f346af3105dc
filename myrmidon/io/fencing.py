"""A fence before the wire: no write leaves a process that may no longer write.

It stands behind every retry, every rate limit and every wait, because the moment of sending is the
last one at which the answer still counts.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from myrmidon.api.wire import HttpRequest, HttpResponse, ResponseStream, Transport

_READS = frozenset({"GET", "HEAD"})


class FencedTransport:
    """Asks ``permit`` before each write.

    ``permit`` raises where this process may not write, and else says for how many seconds nobody
    else may.  A write that is still unanswered then is given up: it must not take effect while
    another process already works.
    """

    def __init__(self, inner: Transport, permit: Callable[[], float]) -> None:
        self._inner, self._permit = inner, permit

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send, if it is a read or allowed."""
        if request.method not in _READS and ("dryRun", "All") not in request.query:
            left = self._permit()
            deadline = left if deadline is None else min(deadline, left)
        return await self._inner.send(request, deadline=deadline)

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[ResponseStream]:
        """Watches change nothing."""
        return self._inner.stream(request)

    async def close(self) -> None:
        """Close the transport behind."""
        await self._inner.close()
