"""Rate limit of requests, and retries after 429 and 503.

``TokenBucket`` and ``RetryPolicy`` decide on plain numbers and do not wait themselves.
``ThrottledTransport`` waits for the bucket before it passes a request on; ``Client.fetch`` waits
between retries.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from myrmidon.api.clock import Clock
from myrmidon.api.requests.request import Patch
from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream, Transport
from myrmidon.errors import retry_seconds

_IDEMPOTENT = frozenset({"GET", "PUT", "DELETE"})
_IDEMPOTENT_PATCHES = frozenset({Patch.MERGE.value, Patch.APPLY.value})


class TokenBucket:
    """Allows ``burst`` requests at once, then ``qps`` per second.

    ``take`` always succeeds and returns how long to wait.  So callers need not poll, and are served
    in the order of their calls.
    """

    def __init__(self, qps: float, burst: int) -> None:
        assert qps > 0, "a rate of 0 would wait for ever; leave the bucket out instead"
        assert burst >= 1, "a bucket without room would never let a request pass"
        self._qps, self._burst = qps, burst
        self._tokens = float(burst)
        self._at = float("-inf")

    def take(self, now: float) -> float:
        """Take one token; return the seconds to wait before using it, 0.0 if one was there."""
        self._refill(now)
        self._tokens -= 1
        return max(0.0, -self._tokens / self._qps)

    def try_take(self, now: float) -> bool:
        """Take one token if one is there; return whether it was.  For callers that do not wait."""
        self._refill(now)
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def _refill(self, now: float) -> None:
        if now > self._at:
            gained = (now - self._at) * self._qps
            self._tokens = min(float(self._burst), self._tokens + gained)
            self._at = now


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Which refused requests the client retries itself, and after how long.

    At most ``attempts_max`` attempts (default 3) and ``seconds_max`` seconds between two of them
    (default 5).  The bounds are small because a waiting worker blocks its key.  If the server asks
    for a longer wait, the error has ``retry_after``, and the key is requeued for that time.
    """

    attempts_max: int = 3
    seconds_max: float = 5.0

    def delay(
        self, request: HttpRequest, response: HttpResponse, *, attempt: int, jitter: float
    ) -> float | None:
        """Return the seconds to wait before the next attempt, None to raise the refusal.

        ``attempt`` counts from 1; ``jitter`` is between 0 and 1.  Only 429 and 503 are retried, and
        only for idempotent requests: a proxy may have answered although the server has executed
        the request.
        """
        if response.status not in {429, 503} or attempt >= self.attempts_max:
            return None
        if not is_idempotent(request):
            return None
        asked = retry_after(response)
        seconds = (1.0 if asked is None else asked) * (1.0 + 0.25 * jitter)
        return seconds if seconds <= self.seconds_max else None


def is_idempotent(request: HttpRequest) -> bool:
    """Whether sending the request twice has the same effect as sending it once."""
    if request.method == "PATCH":
        return request.headers.get("content-type") in _IDEMPOTENT_PATCHES
    return request.method in _IDEMPOTENT


def retry_after(response: HttpResponse) -> float | None:
    """Return the seconds of the Retry-After header, within the bounds of ``retry_seconds``.

    API servers send a number.  Proxies may send a date; it is compared with the Date header of the
    same answer, because our clock may differ.  None if the header is neither.
    """
    asked = response.header("retry-after")
    seconds = retry_seconds(asked)
    if seconds is not None or asked is None:
        return seconds
    until, now = _date(asked), _date(response.header("date") or "")
    return None if until is None or now is None else retry_seconds((until - now).total_seconds())


def _date(text: str) -> datetime | None:
    """Return the date of an HTTP header, None if it is not a date."""
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


class ThrottledTransport:
    """Delays requests as the bucket requires.

    ``observe`` is called with the method and the wait in seconds of every request.
    """

    def __init__(
        self,
        inner: Transport,
        bucket: TokenBucket,
        clock: Clock,
        observe: Callable[[str, float], None] = lambda _method, _seconds: None,
    ) -> None:
        self._inner, self._bucket, self._clock, self._observe = inner, bucket, clock, observe

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Wait for a token, then send.  The wait does not count towards the deadline."""
        await self._wait(request)
        return await self._inner.send(request, deadline=deadline)

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[ResponseStream]:
        """Wait for a token, then open the stream."""
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: HttpRequest) -> AsyncIterator[ResponseStream]:
        await self._wait(request)
        async with self._inner.stream(request) as response:
            yield response

    async def _wait(self, request: HttpRequest) -> None:
        seconds = self._bucket.take(self._clock.monotonic())
        self._observe(request.method, seconds)
        if seconds > 0:
            await self._clock.sleep(seconds)

    async def close(self) -> None:
        """Close the inner transport."""
        await self._inner.close()
