"""Rate limits of requests, and Retry-After."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.io.throttle import ThrottledTransport, TokenBucket, retry_after
from tests.io.fakes import FakeClock, ScriptedTransport, answer


@given(
    gaps=st.lists(st.floats(0, 2), min_size=1, max_size=50),
    burst=st.integers(1, 5),
    qps=st.sampled_from([0.5, 1.0, 10.0]),
)
def test_no_interval_has_more_than_the_rate_and_the_burst(
    gaps: list[float], burst: int, qps: float
) -> None:
    """The guarantee of a token bucket."""
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
def test_a_caller_that_drops_instead_of_waiting_gets_the_same_rate(
    gaps: list[float], burst: int
) -> None:
    """A refused take costs nothing."""
    bucket, now = TokenBucket(1.0, burst), 0.0
    taken: list[float] = []
    for gap in gaps:
        now += gap
        if bucket.try_take(now):
            taken.append(now)
    assert len(taken) <= burst + now + 1e-6


def test_requests_wait_in_order() -> None:
    """The burst passes at once, the rest is spread."""
    clock = FakeClock()
    inner = ScriptedTransport(*[answer({})] * 4)
    transport = ThrottledTransport(inner, TokenBucket(2.0, 2), clock)

    async def send_all() -> None:
        for _ in range(4):
            await transport.send(HttpRequest("GET", "/"))

    asyncio.run(send_all())
    assert clock.slept == [0.5, 0.5]


DATE = ("date", "Sun, 06 Nov 1994 08:49:37 GMT")


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("86400", 60.0),
        ("1e300", 60.0),
        ("inf", 60.0),
        ("9" * 5000, 60.0),
        ("nan", None),
        ("soon", None),
        ("", None),
        ("Sun, 06 Nov 1994 08:49:57 GMT", 20.0),
        ("Sun, 06 Nov 1994 08:00:00 GMT", 0.0),
        ("Sun, 06 Nov 9994 08:00:00 GMT", 60.0),
        ("Sun, 06 Nov 99999999 08:00:00 GMT", None),
        ("Sun, 06 Nov 1994 08:49:57 -9999", None),
    ],
)
def test_retry_after_is_read_and_bounded(asked: str, seconds: float | None) -> None:
    """A number or a date; a day is limited to a minute, and anything else is ignored."""
    assert retry_after(HttpResponse(429, (DATE, ("retry-after", asked)))) == seconds


def test_a_retry_after_date_without_a_date_header_is_ignored() -> None:
    """Our own clock may be wrong."""
    assert retry_after(HttpResponse(429, (("retry-after", DATE[1]),))) is None
    assert retry_after(HttpResponse(429)) is None


@given(st.text() | st.floats().map(str))
def test_a_server_never_asks_for_more_than_a_minute(asked: str) -> None:
    """Whatever the header says."""
    seconds = retry_after(HttpResponse(503, (DATE, ("retry-after", asked))))
    assert seconds is None or 0.0 <= seconds <= 60.0
