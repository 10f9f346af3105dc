"""How fast we may ask."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.wire import HttpRequest
from myrmidon.io.throttle import ThrottledTransport, TokenBucket
from tests.io.fakes import FakeClock, ScriptedTransport, answer


@given(
    gaps=st.lists(st.floats(0, 2), min_size=1, max_size=50),
    burst=st.integers(1, 5),
    qps=st.sampled_from([0.5, 1.0, 10.0]),
)
def test_no_stretch_of_time_has_more_than_the_rate_and_the_burst(
    gaps: list[float], burst: int, qps: float
) -> None:
    """The one promise of a token bucket."""
    bucket, now = TokenBucket(qps, burst), 0.0
    sent: list[float] = []
    for gap in gaps:
        now += gap
        sent.append(now + bucket.take(now))
    assert sent == sorted(sent)
    for first in range(len(sent)):
        for last in range(first, len(sent)):
            allowed = burst + (sent[last] - sent[first]) * qps
            assert last - first + 1 <= allowed + 1e-6


@given(gaps=st.lists(st.floats(0, 2), min_size=1, max_size=50), burst=st.integers(1, 5))
def test_whoever_would_rather_drop_gets_the_same_rate(gaps: list[float], burst: int) -> None:
    """A refused take costs nothing."""
    bucket, now = TokenBucket(1.0, burst), 0.0
    taken: list[float] = []
    for gap in gaps:
        now += gap
        if bucket.try_take(now):
            taken.append(now)
    assert len(taken) <= burst + now + 1e-6


def test_requests_wait_in_order() -> None:
    """The burst passes, the rest is spread."""
    clock = FakeClock()
    inner = ScriptedTransport(*[answer({})] * 4)
    transport = ThrottledTransport(inner, TokenBucket(2.0, 2), clock)

    async def send_all() -> None:
        for _ in range(4):
            await transport.send(HttpRequest("GET", "/"))

    asyncio.run(send_all())
    assert clock.slept == [0.5, 0.5]
