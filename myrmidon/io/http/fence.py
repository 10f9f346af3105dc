"""Fence: a transport that sends writes only while this process holds the lease.

Two replicas must not write at the same time, not even when the leader is slow to notice that it
lost its lease.  So the fence is the last layer before the HTTP transport, after all retries, rate
limits and waits.  It asks for permission when a write is about to be sent; the permission says for
how many seconds no other process may write.

What holds:

- No write begins without permission, and none begins after the permission has ended.  The time is
  checked again when the bytes are handed to the kernel (``Connection.exchange``), because the
  event loop may have been blocked in between.
- A write that is unanswered when the permission ends is cancelled, and its connection is reset:
  bytes that wait in this process or in the kernel's send buffer are dropped, with TLS or without.
  The same happens if the process is killed.

What the client alone cannot guarantee:

- A write that has reached the other side in full may take effect after it was cancelled: the server
  may be working on it, or it may wait in the server's receive buffer or in a proxy.  The reset
  tells them, and an API server cancels a request whose connection is gone if it still can.
- A process that is stopped as a whole (SIGSTOP, a frozen machine) resets nothing while it is
  stopped: its kernel goes on delivering the bytes that it was given.

For both cases, writes that must not happen twice or late carry a precondition (a uid, a
resourceVersion), which the server checks when the write takes effect.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream, Transport

_READS = frozenset({"GET", "HEAD"})


def is_fenced(request: HttpRequest) -> bool:
    """Whether a request needs permission: a write that is not a dry run."""
    return request.method not in _READS and ("dryRun", "All") not in request.query


class FencedTransport:
    """Calls ``permit`` before each write.  Reads and dry runs need no permission.

    ``permit`` raises if this process may not write.  Otherwise it returns for how many seconds no
    other process may write; the deadline of the write is at most that.
    """

    def __init__(self, inner: Transport, permit: Callable[[], float]) -> None:
        self._inner, self._permit = inner, permit

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send a request; a write only with permission, and not beyond the end of it."""
        if is_fenced(request):
            left = self._permit()
            deadline = left if deadline is None else min(deadline, left)
        return await self._inner.send(request, deadline=deadline)

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[ResponseStream]:
        """Open a stream.  A watch is a read and needs no permission."""
        return self._inner.stream(request)

    async def close(self) -> None:
        """Close the inner transport."""
        await self._inner.close()
