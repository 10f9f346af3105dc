"""Q6: when a write may be sent."""

import asyncio

import pytest

from myrmidon.api.objects.kinds import CONFIG_MAP
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.errors import LeadershipLostError
from myrmidon.io.client import Client
from myrmidon.io.http.fence import FencedTransport
from myrmidon.io.throttle import ThrottledTransport, TokenBucket
from tests.io.fakes import FakeClock, ScriptedTransport, answer

REF = ObjectRef(CONFIG_MAP, "a", "ns")


def closed() -> float:
    """Forbid every write."""
    raise LeadershipLostError("the lease may be taken")


def test_the_fence_is_checked_before_every_attempt_of_every_write() -> None:
    """Also before a retry after a Retry-After."""
    passes = iter([True, False])

    def permit() -> float:
        return 5.0 if next(passes) else closed()

    transport, clock = ScriptedTransport(answer({}, 429, retry_after="1")), FakeClock()
    client = Client(FencedTransport(transport, permit), clock=clock)

    with pytest.raises(LeadershipLostError):
        asyncio.run(client.delete(REF, uid="u"))
    assert len(transport.requests) == 1


def test_reads_and_dry_runs_pass_the_fence() -> None:
    """A standby may read, and ask for a dry run."""
    transport = ScriptedTransport(answer({}), answer({}))
    client = Client(FencedTransport(transport, closed))

    asyncio.run(client.get(REF))
    asyncio.run(client.patch(REF, {"data": {}}, dry_run=True))

    assert ("dryRun", "All") in transport.requests[1].query


def test_the_fence_is_checked_after_the_rate_limit() -> None:
    """A write that waited for its turn is not sent if the lease expired in the meantime."""
    clock = FakeClock()

    def permit() -> float:
        return 10.0 - clock.monotonic() if clock.monotonic() < 10.0 else closed()

    transport = ScriptedTransport(answer({}))
    throttled = ThrottledTransport(FencedTransport(transport, permit), TokenBucket(0.05, 1), clock)
    client = Client(throttled, clock=clock)

    asyncio.run(client.delete(REF))
    with pytest.raises(LeadershipLostError):
        asyncio.run(client.delete(REF))

    assert clock.slept == [20.0]
    assert len(transport.requests) == 1


def test_a_write_is_given_up_before_another_leader_may_write() -> None:
    """After the end of the lease, its effect could mix with writes of the next leader."""
    seen: list[float | None] = []

    class Listening(ScriptedTransport):
        async def send(
            self, request: HttpRequest, *, deadline: float | None = None
        ) -> HttpResponse:
            seen.append(deadline)
            return await super().send(request, deadline=deadline)

    transport = Listening(answer({}), answer({}))
    client = Client(FencedTransport(transport, lambda: 4.5), deadline_seconds=30.0)

    asyncio.run(client.delete(REF))
    asyncio.run(client.get(REF))

    assert seen == [4.5, 30.0]
