"""SliceFence: a transport that sends the writes of a pass only while this process owns its slice.

It is the fence of ``io.http.fence``, per slice.  The slice of a pass is in a context variable, which
tasks of the pass inherit: every write that a state causes, directly or through ``ctx.api``, is
checked against the slice of its parent, whichever object it changes.  Writes outside a pass (Events)
need a valid member Lease only.

It also knows which slices have writes that may still take effect: a write under way, or one that was
cancelled or got no answer a short time ago.  A slice with such writes is not handed over: the write
could land among those of the next owner.
"""

from collections import Counter
from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar

from myrmidon.api.clock import Clock
from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream, Transport
from myrmidon.errors import UnreachableError
from myrmidon.io.http.fence import is_fenced
from myrmidon.runtime.shards.written_versions import Versions, note

Permit = Callable[[int | None], float]

PASS_SLICE: ContextVar[int | None] = ContextVar("slice of the pass", default=None)
"""The slice of the object whose pass is running; None outside passes."""


class SliceWrites:
    """The writes of a process, by the slice of the pass that sent them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._under_way: Counter[int | None] = Counter()
        self._unanswered_at: dict[int | None, float] = {}
        self.versions: Versions = {}
        """The version of the last write in each collection."""

    def began(self, number: int | None) -> None:
        """Note that a write is sent."""
        self._under_way[number] += 1

    def ended(self, number: int | None, *, answered: bool) -> None:
        """Note that a write ended, with an answer of the server or without."""
        self._under_way[number] -= 1
        if not self._under_way[number]:
            del self._under_way[number]
        if not answered:
            self._unanswered_at[number] = self._clock.monotonic()

    def settle_in(self, slices: Collection[int], seconds: float) -> float:
        """Return after how many seconds no earlier write of the slices can take effect; 0.0 for now.

        A write that got no answer may take effect for ``seconds``.
        """
        now = self._clock.monotonic()
        for number, at in list(self._unanswered_at.items()):
            if now >= at + seconds:
                del self._unanswered_at[number]
        if any(number in self._under_way for number in slices):
            return seconds
        times = (self._unanswered_at[each] for each in slices if each in self._unanswered_at)
        return max((at + seconds - now for at in times), default=0.0)


class SliceFence:
    """Calls ``permit`` with the slice of the pass before each write; reads need no permission."""

    def __init__(
        self, inner: Transport, permit: Permit, writes: SliceWrites, *, is_home: bool = True
    ) -> None:
        """``is_home``: whether the versions of answers are those of the home cluster."""
        self._inner, self._permit, self._writes = inner, permit, writes
        self._is_home = is_home

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send a request; a write only with permission, and not beyond the end of it."""
        if not is_fenced(request):
            return await self._inner.send(request, deadline=deadline)
        number, answered = PASS_SLICE.get(), False
        left = self._permit(number)
        self._writes.began(number)
        try:
            response = await self._inner.send(
                request, deadline=left if deadline is None else min(deadline, left)
            )
            answered = True
        except UnreachableError:  # the write was not sent
            answered = True
            raise
        finally:
            self._writes.ended(number, answered=answered)
        if self._is_home:
            note(self._writes.versions, request, response)
        return response

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[ResponseStream]:
        """Open a stream.  A watch is a read and needs no permission."""
        return self._inner.stream(request)

    async def close(self) -> None:
        """Close the inner transport."""
        await self._inner.close()
