"""Writes without a response are remembered; reads and completed writes are not."""

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
    """Return a transport on which the fault happens to every request."""
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
def test_which_requests_are_ambiguous(
    request_: HttpRequest, fault: Fault | None, is_settled: bool
) -> None:
    """Only a write that was sent and got no response, until it is settled."""

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


def test_a_cancelled_write_is_ambiguous() -> None:
    """It is ambiguous while it is under way, and stays so when it is cancelled."""

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
