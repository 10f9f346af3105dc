"""A fence in front of the wire: a process that may not write sends no write.

The fence stands behind every retry, every rate limit and every wait, and asks for permission when a
write is about to be sent.  The permission says for how many seconds no other process may write.

What holds:

- No write begins without permission, and none begins after the permission has ended.  This is
  checked once more when the bytes are handed to the kernel (``Connection.exchange``), because the
  event loop may have been held up since.
- A write that is unanswered when the permission ends is given up, and its connection is reset: bytes
  that wait in this process or in the kernel's send buffer are dropped.  So they are when the process
  is killed.  Through TLS it is the same.

What cannot hold without the server's help:

- A write that has reached the other side whole may take effect after it was given up: the server
  may be working on it, it may wait in the server's receive buffer, or in a proxy in between that
  passes it on.  The reset tells them, and an API server stops working on a request whose connection
  is gone where it can.
- A process that is stopped as a whole (SIGSTOP, a frozen machine) resets nothing while it is
  stopped: its kernel goes on delivering what it has been handed.

For both, writes that must not be done twice or late carry a precondition (a uid, a
resourceVersion), which the server checks when the write takes effect.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from myrmidon.api.wire import HttpRequest, HttpResponse, ResponseStream, Transport

_READS = frozenset({"GET", "HEAD"})


class FencedTransport:
    """Asks ``permit`` before each write; reads and dry runs pass.

    ``permit`` raises if this process may not write.  Otherwise it returns for how many seconds no
    other process may: that is the deadline of the write.
    """

    def __init__(self, inner: Transport, permit: Callable[[], float]) -> None:
        self._inner, self._permit = inner, permit

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send a read, a dry run, or a write that is permitted."""
        if request.method not in _READS and ("dryRun", "All") not in request.query:
            left = self._permit()
            deadline = left if deadline is None else min(deadline, left)
        return await self._inner.send(request, deadline=deadline)

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[ResponseStream]:
        """Open a watch, which changes nothing."""
        return self._inner.stream(request)

    async def close(self) -> None:
        """Close the transport behind."""
        await self._inner.close()
