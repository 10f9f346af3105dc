"""Events: repeated ones are counted, and recording never blocks a pass."""

import asyncio
import re
from typing import Any

import orjson
import pytest

from myrmidon.api.requests.transport import HttpResponse
from myrmidon.errors import LeadershipLostError
from myrmidon.io.client import Client
from myrmidon.io.events import EventRecorder
from myrmidon.io.http.fence import FencedTransport
from tests.io.fakes import Answer, FakeClock, ScriptedTransport, answer
from tests.io.model_server import config_map

SUBJECT = config_map("a", "u", 5)
OK = answer({"kind": "Event", "metadata": {"name": "e"}})


def recorder(*script: Answer, **options: Any) -> tuple[EventRecorder, ScriptedTransport, FakeClock]:
    """Return a recorder whose responses come from a script."""
    transport, clock = ScriptedTransport(*script), FakeClock()
    permit = options.pop("permit", lambda: 30.0)
    client = Client(FencedTransport(transport, permit), clock=clock)
    return EventRecorder(client, "demo", clock=clock, **options), transport, clock


def refused(status: int, reason: str) -> HttpResponse:
    """Build a refusal."""
    return answer({"kind": "Status", "reason": reason, "message": "no"}, status)


def test_the_fields_of_an_event() -> None:
    """As kubectl describe needs them."""
    it, transport, _ = recorder(OK)
    it.record(SUBJECT, "Warning", "Failed", "it broke")
    asyncio.run(it.flush())
    event = orjson.loads(transport.requests[0].body)
    assert transport.requests[0].path == "/api/v1/namespaces/ns/events"
    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "a",
        "namespace": "ns",
        "uid": "u",
        "resourceVersion": "5",
    }
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "Failed", "it broke")
    assert (event["count"], event["firstTimestamp"]) == (1, "2026-01-01T00:00:00Z")


def test_events_of_cluster_scoped_objects_live_in_default() -> None:
    """That is where kubectl looks for them."""
    it, transport, _ = recorder(OK)
    it.record({"kind": "Node", "metadata": {"name": "n"}}, "Normal", "Seen", "hello")
    asyncio.run(it.flush())
    assert transport.requests[0].path == "/api/v1/namespaces/default/events"


def test_a_repeated_event_is_counted() -> None:
    """One event, not a thousand; queued repetitions are one request."""
    it, transport, clock = recorder(OK, OK)
    it.record(SUBJECT, "Normal", "Waiting", "not yet")
    asyncio.run(it.flush())
    clock.seconds += 30
    for _ in range(3):
        it.record(SUBJECT, "Normal", "Waiting", "not yet")
    asyncio.run(it.flush())
    assert [request.method for request in transport.requests] == ["POST", "PATCH"]
    assert orjson.loads(transport.requests[1].body) == {
        "count": 4,
        "lastTimestamp": "2026-01-01T00:00:30Z",
    }


def test_a_restarted_process_continues_its_count() -> None:
    """The name follows from the content, so the existing event is found."""
    exists = refused(409, "AlreadyExists")
    it, transport, _ = recorder(exists, answer({"count": 7}), OK)
    it.record(SUBJECT, "Normal", "Waiting", "not yet")
    asyncio.run(it.flush())
    assert orjson.loads(transport.requests[2].body)["count"] == 8


def test_an_event_that_expired_is_created_again() -> None:
    """The server keeps them for an hour."""
    it, transport, _ = recorder(OK, refused(404, "NotFound"), OK)
    for _ in range(2):
        it.record(SUBJECT, "Normal", "Waiting", "not yet")
        asyncio.run(it.flush())
    assert [request.method for request in transport.requests] == ["POST", "PATCH", "POST"]


def test_texts_that_differ_each_time_are_combined() -> None:
    """C7 for events: an id or a time in the text does not create a new event each time."""
    it, transport, clock = recorder(*[OK] * 40)
    for number in range(20):
        it.record(SUBJECT, "Warning", "Failed", f"attempt {number}")
        asyncio.run(it.flush())
    created = [r for r in transport.requests if r.method == "POST"]
    assert len(created) == 11
    assert orjson.loads(created[-1].body)["message"] == "(combined from similar events)"
    clock.seconds += 3600
    it.record(SUBJECT, "Warning", "Failed", "attempt 20")
    asyncio.run(it.flush())
    assert orjson.loads(transport.requests[-1].body)["message"] == "attempt 20"


def test_one_object_cannot_flood_the_server() -> None:
    """25 at once, then one in five minutes."""
    it, transport, _ = recorder(*[OK] * 100)
    for number in range(100):
        it.record(SUBJECT, "Normal", f"Reason{number}", "text")
        asyncio.run(it.flush())
    assert len(transport.requests) == 25
    assert it.dropped == 75


def lost() -> float:
    """A fence that is closed."""
    raise LeadershipLostError("not the leader")


@pytest.mark.parametrize("status", [403, 404, 422, 500])
def test_refusals_are_swallowed(status: int) -> None:
    """A refused event fails no pass; F31: nor does a terminating namespace."""
    it, _, _ = recorder(refused(status, "No"), OK)
    it.record(SUBJECT, "Normal", "A", "text")
    it.record(SUBJECT, "Normal", "B", "text")
    asyncio.run(it.flush())
    assert it.dropped == 1


def test_nothing_is_written_after_the_lease_is_lost() -> None:
    """Events are writes, too."""
    it, transport, _ = recorder(OK, permit=lost)
    it.record(SUBJECT, "Normal", "A", "text")
    asyncio.run(it.flush())
    assert transport.requests == []


def test_recording_never_waits() -> None:
    """A full queue drops events, and long texts are cut."""
    it, transport, _ = recorder(OK, waiting_max=1)
    it.record(SUBJECT, "Normal", "A", "x" * 5000)
    it.record(SUBJECT, "Normal", "B", "text")
    asyncio.run(it.flush())
    assert it.dropped == 1
    message = orjson.loads(transport.requests[0].body)["message"]
    assert message == "x" * 976 + "… (4024 characters left out)"


HALF = "half \ud800 of it"


@pytest.mark.parametrize(
    ("subject", "type_", "reason", "message"),
    [
        (SUBJECT, "Normal", "A", HALF),
        (SUBJECT, "Normal", HALF, "text"),
        (SUBJECT, HALF, "A", "text"),
        (SUBJECT, None, None, None),
        (SUBJECT, "Normal", "A", "x" * 10**6),
        ({"metadata": "text"}, "Normal", "A", "text"),
        ({"metadata": {"name": HALF}, "kind": HALF}, "Normal", "A", "text"),
        ({"metadata": {"name": "a", "resourceVersion": HALF}}, "Normal", "A", "text"),
        ({}, "Normal", "A", "text"),
        (None, "Normal", "A", "text"),
        (SUBJECT, "Normal", "A", object()),
    ],
    ids=range(11),
)
def test_q9_nothing_that_is_recorded_ends_the_recorder(
    subject: Any, type_: Any, reason: Any, message: Any
) -> None:
    """Q9: each event is written or dropped, and the next one is written."""
    it, transport, _ = recorder(OK, OK)
    it.record(subject, type_, reason, message)
    it.record(SUBJECT, "Normal", "Next", "fine")
    asyncio.run(it.flush())

    sent = [orjson.loads(request.body) for request in transport.requests]
    assert sent[-1]["message"] == "fine"
    assert len(sent) + it.dropped == 2
    for event in sent:
        assert len(event["message"].encode()) <= 1024
        assert len(event["reason"].encode()) <= 128


@pytest.mark.parametrize(
    "broken",
    [
        HttpResponse(200, (), b"[]"),
        HttpResponse(200, (), b"not JSON"),
        RuntimeError("a bug of ours"),
        ValueError("no"),
    ],
    ids=["list", "text", "bug", "value"],
)
def test_q9_nothing_that_a_server_answers_ends_the_recorder(broken: Any) -> None:
    """Q9: also if the fault is in this program."""
    it, transport, _ = recorder(broken, OK)
    it.record(SUBJECT, "Normal", "First", "text")
    it.record(SUBJECT, "Normal", "Next", "fine")
    asyncio.run(it.flush())

    assert len(transport.requests) == 2
    assert it.dropped == 1


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("web", "web."),
        ("system:node-proxier", "system-node-proxier."),
        ("a.-b.", "a.b."),
        ("\u00e4", ""),
        ("x" * 253, "x" * 230 + "."),
    ],
)
def test_the_name_of_an_event_is_one_that_the_server_accepts(name: str, begins: str) -> None:
    """Roles have names with colons, which are not allowed for Events."""
    it, transport, _ = recorder(OK)
    it.record({"kind": "Role", "metadata": {"name": name}}, "Normal", "A", "text")
    asyncio.run(it.flush())

    called = orjson.loads(transport.requests[0].body)["metadata"]["name"]
    assert called.startswith(begins)
    assert len(called) <= 253
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", called)
