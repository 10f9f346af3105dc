"""Writes that ended without an answer: they are remembered, reads and answered writes are not."""

import asyncio

import pytest

from myrmidon.api.requests.transport import HttpRequest
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.server import ApiServer
from myrmidon.errors import TransportError
from myrmidon.io.http.unanswered import UnansweredWrites
from myrmidon.io.timers.clock import LoopClock
from myrmidon.testing import Fault, FaultyTransport, Hang, Lose, Refuse, run

GET = HttpRequest("GET", "/api/v1/namespaces/default/configmaps")
POST = HttpRequest(
    "POST",
    "/api/v1/namespaces/default/configmaps",
    body=b'{"metadata":{"name":"a"}}',
    headers={"content-type": "application/json"},
)


def transport(fault: Fault | None) -> UnansweredWrites:
    """A transport on which the fault happens to every request."""
    inner = FaultyTransport(LocalTransport(ApiServer()), lambda _request: fault)
    return UnansweredWrites(inner, LoopClock())


@pytest.mark.parametrize(
    ("request_", "fault", "is_settled"),
    [
        (POST, None, True),
        (POST, Refuse(), True),
        (POST, Lose(), False),
        (GET, Lose(), True),
        (GET, None, True),
    ],
    ids=["answered", "not sent", "lost", "lost read", "read"],
)
def test_which_requests_leave_doubt(
    request_: HttpRequest, fault: Fault | None, is_settled: bool
) -> None:
    """Only a write that was sent and not answered, for as long as it is asked about."""

    async def scenario() -> None:
        line = transport(fault)
        assert line.settled_since(5.0)
        try:
            await line.send(request_)
        except TransportError:
            assert fault is not None
        assert line.settled_since(5.0) is is_settled
        await asyncio.sleep(5.0)  # noqa: TID251 - virtual
        assert line.settled_since(5.0)

    run(scenario())


def test_write_that_is_cancelled_leaves_doubt() -> None:
    """Under way it is not settled, and cancelled it is not either."""

    async def scenario() -> None:
        line = transport(Hang())
        async with asyncio.TaskGroup() as group:
            task = group.create_task(line.send(POST))
            await asyncio.sleep(1)  # noqa: TID251 - virtual
            assert not line.settled_since(-1000.0)
            task.cancel()
        assert not line.settled_since(5.0)
        assert line.settled_since(0.0)

    run(scenario())
