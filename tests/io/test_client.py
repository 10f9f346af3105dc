"""What a client makes of responses, and when it may write."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from myrmidon.api.objects.kinds import CONFIG_MAP, DEPLOYMENT
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Patch
from myrmidon.api.requests.transport import HttpResponse
from myrmidon.errors import (
    AlreadyExistsError,
    AmbiguousError,
    ApiError,
    ConflictError,
    ForbiddenError,
    MalformedNameError,
    NotFoundError,
    ServerError,
    TooManyRequestsError,
    UnreachableError,
)
from myrmidon.io.client import Client, is_ambiguous
from tests.io.fakes import Answer, FakeClock, ModelTransport, ScriptedTransport, answer
from tests.io.model_server import ModelServer, expired

REF = ObjectRef(CONFIG_MAP, "a", "ns")


def client(*script: Answer, **options: Any) -> tuple[Client, ScriptedTransport, FakeClock]:
    """Return a client whose responses come from a script."""
    transport, clock = ScriptedTransport(*script), FakeClock()
    return Client(transport, clock=clock, **options), transport, clock


def status(code: int, reason: str = "", **headers: str) -> HttpResponse:
    """Build a refusal."""
    return answer({"kind": "Status", "reason": reason, "message": "no"}, code, **headers)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (status(403, "Forbidden"), ForbiddenError),
        (status(404, "NotFound"), NotFoundError),
        (HttpResponse(404, (), b"404 page not found\n"), NotFoundError),
        (status(409, "AlreadyExists"), AlreadyExistsError),
        (status(409, "Conflict"), ConflictError),
        (status(500), ServerError),
        (HttpResponse(502, (), b'{"kind":"Sta'), ServerError),
        (status(429), TooManyRequestsError),
    ],
    ids=["403", "404", "404 text", "409 exists", "409", "500", "502 cut", "429"],
)
def test_refusals_become_errors(given: HttpResponse, expected: type[ApiError]) -> None:
    """With the status, also if a proxy sent a body that is not a Status."""
    it, _, _ = client(given, given, given)
    with pytest.raises(expected) as caught:
        asyncio.run(it.get(REF))
    assert caught.value.status == given.status


@pytest.mark.parametrize("body", [b"", b'{"kind": "Conf', b"[]"], ids=["empty", "cut", "list"])
def test_a_truncated_response_is_ambiguous(body: bytes) -> None:
    """F11: the write may have taken effect."""
    it, _, _ = client(HttpResponse(200, (), body))
    with pytest.raises(AmbiguousError):
        asyncio.run(it.create(CONFIG_MAP, {"metadata": {"name": "a", "namespace": "ns"}}))


def test_retry_after_is_obeyed_for_idempotent_requests() -> None:
    """F08: with some jitter, within bounds."""
    it, transport, clock = client(
        status(429, retry_after="1"), status(503, retry_after="2"), answer({"kind": "ConfigMap"})
    )
    asyncio.run(it.get(REF))
    assert len(transport.requests) == 3
    assert 1 <= clock.slept[0] <= 1.25
    assert 2 <= clock.slept[1] <= 2.5


@pytest.mark.parametrize(
    "call",
    [
        lambda it: it.create(CONFIG_MAP, {"metadata": {"name": "a", "namespace": "ns"}}),
        lambda it: it.patch(REF, [], patch=Patch.JSON),
    ],
    ids=["create", "json patch"],
)
def test_retry_after_is_reported_for_other_requests(call: Callable[[Client], Any]) -> None:
    """A create that a proxy passed on must not be repeated without the caller's knowledge."""
    it, transport, _ = client(status(429, retry_after="1"))
    with pytest.raises(TooManyRequestsError) as caught:
        asyncio.run(call(it))
    assert caught.value.retry_after == 1.0
    assert len(transport.requests) == 1


def test_long_waits_are_left_to_the_queue() -> None:
    """A worker that sleeps for a minute blocks its key for a minute."""
    it, _, clock = client(status(429, retry_after="60"))
    with pytest.raises(TooManyRequestsError) as caught:
        asyncio.run(it.get(REF))
    assert caught.value.retry_after == 60.0
    assert clock.slept == []


def test_the_requests_of_every_verb() -> None:
    """Paths, queries, bodies and media types."""
    it, transport, _ = client(*[answer({})] * 6)
    obj = {"metadata": {"name": "d", "namespace": "ns", "resourceVersion": "5"}}
    ref = ObjectRef(DEPLOYMENT, "d", "ns")

    async def calls() -> None:
        await it.create(DEPLOYMENT, obj, field_manager="m")
        await it.update(DEPLOYMENT, obj, subresource="status")
        await it.patch(ref, {}, patch=Patch.APPLY, field_manager="m", force=True)
        await it.patch(ref, {"spec": {"replicas": 2}}, subresource="scale")
        await it.delete(ref, uid="u", resource_version="5", propagation="Foreground")
        await it.delete(ref)

    asyncio.run(calls())
    root = "/apis/apps/v1/namespaces/ns/deployments"
    sent = [(r.method, r.path, r.query) for r in transport.requests]
    assert sent == [
        ("POST", root, (("fieldManager", "m"),)),
        ("PUT", f"{root}/d/status", ()),
        ("PATCH", f"{root}/d", (("fieldManager", "m"), ("force", "true"))),
        ("PATCH", f"{root}/d/scale", ()),
        ("DELETE", f"{root}/d", ()),
        ("DELETE", f"{root}/d", ()),
    ]
    assert transport.requests[2].headers["content-type"] == Patch.APPLY.value
    assert orjson.loads(transport.requests[4].body) == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "u", "resourceVersion": "5"},
        "propagationPolicy": "Foreground",
    }
    assert transport.requests[5].body == b""


def test_lists_are_read_to_their_end() -> None:
    """Page by page, and each item has its kind."""
    server = ModelServer()
    for name in "abcde":
        server.write(name)
    transport = ModelTransport(server)
    found = asyncio.run(Client(transport).list(CONFIG_MAP, "ns", labels="x=y", page_size=2))
    assert [obj["metadata"]["name"] for obj in found] == list("abcde")
    assert found[0]["kind"] == "ConfigMap"
    assert len(transport.requests) == 3
    assert ("labelSelector", "x=y") in transport.requests[0].query


def test_a_list_whose_continue_token_expired_is_read_again_completely() -> None:
    """Pages of two versions would be a state that never existed."""
    server = ModelServer()
    for name in "abcde":
        server.write(name)
    transport = ModelTransport(server)

    transport.faults = [None, expired()]
    found = asyncio.run(Client(transport).list(CONFIG_MAP, page_size=2))
    assert [obj["metadata"]["name"] for obj in found] == list("abcde")
    assert "limit" not in dict(transport.requests[-1].query)


def test_every_attempt_is_observed() -> None:
    """For metrics: the status is 0 without a response."""
    seen: list[tuple[str, int]] = []

    class Counter:
        def on_request(self, method: str, status: int, seconds: float) -> None:
            seen.append((method, status))

    it, _, _ = client(answer({}), UnreachableError("refused"), observer=Counter())
    asyncio.run(it.get(REF))
    with pytest.raises(UnreachableError):
        asyncio.run(it.get(REF))
    assert seen == [("GET", 200), ("GET", 0)]


def test_what_is_ambiguous() -> None:
    """F09: no response after sending, and a server error during the request."""
    assert is_ambiguous(AmbiguousError("reset"))
    assert is_ambiguous(ServerError(504, "Timeout", "slow"))
    assert not is_ambiguous(UnreachableError("refused"))
    assert not is_ambiguous(ConflictError(409, "Conflict", "stale"))


@pytest.mark.parametrize("name", ["", ".", "a/b", "a\n"])
def test_a_malformed_name_sends_nothing(name: str) -> None:
    """A get would become a list, and a delete would delete every ConfigMap of the namespace."""
    it, transport, _ = client()
    ref = ObjectRef(CONFIG_MAP, name, "ns")
    for call in (it.get(ref), it.delete(ref, uid="u"), it.patch(ref, {})):
        with pytest.raises(MalformedNameError):
            asyncio.run(call)
    assert not transport.requests
