"""A list that is answered from memory has the answer of now."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.handling.read_memo import SHARED_READS
from myrmidon.apiserver.requests.environment import CountingEnvironment
from myrmidon.apiserver.server import ApiServer

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def send(server: ApiServer, method: str, path: str, body: Any = None, **query: str) -> HttpResponse:
    """Send a request and return its answer."""
    headers = {
        "content-type": "application/json",
        "accept": query.pop("accept", "application/json"),
    }
    content = b"" if body is None else json.dumps(body).encode()
    answer = server.answer(HttpRequest(method, path, tuple(query.items()), headers, content))
    server.settle()
    assert isinstance(answer, HttpResponse)
    return answer


def config_map(name: str, value: str) -> dict[str, Any]:
    """Return a ConfigMap."""
    return {"metadata": {"name": name, "labels": {"value": value}}, "data": {"value": value}}


NAMES, VALUES = st.sampled_from("abc"), st.sampled_from("xy")
REQUESTS = st.one_of(
    st.tuples(st.just("create"), NAMES, VALUES),
    st.tuples(st.just("delete"), NAMES, VALUES),
    st.tuples(st.just("list"), NAMES, VALUES),
    st.tuples(st.just("page"), NAMES, VALUES),
    st.tuples(st.just("get"), NAMES, VALUES),
    st.tuples(st.just("selected"), NAMES, VALUES),
    st.tuples(st.just("table"), NAMES, VALUES),
)


def act(server: ApiServer, what: str, name: str, value: str) -> HttpResponse:
    """Send one of the requests."""
    match what:
        case "create":
            return send(server, "POST", CONFIG_MAPS, config_map(name, value))
        case "delete":
            return send(server, "DELETE", f"{CONFIG_MAPS}/{name}")
        case "get":
            return send(server, "GET", f"{CONFIG_MAPS}/{name}")
        case "selected":
            return send(server, "GET", CONFIG_MAPS, labelSelector=f"value={value}")
        case "page":
            return send(server, "GET", CONFIG_MAPS, limit="1")
        case "table":
            return send(server, "GET", CONFIG_MAPS, accept=TABLE)
        case _:
            return send(server, "GET", CONFIG_MAPS)


@settings(max_examples=60, deadline=None)
@given(st.lists(REQUESTS, min_size=1, max_size=12))
def test_a_server_with_a_memory_answers_reads_like_one_without(
    requests: list[tuple[str, str, str]],
) -> None:
    """Whatever was written in between, and on whichever server it was read before."""
    memory, none = ApiServer(), ApiServer(memo=None)
    for what, name, value in requests:
        assert act(memory, what, name, value) == act(none, what, name, value)


def test_a_list_after_a_rollback_is_answered_from_memory() -> None:
    """Its records are the same; a list of other records is not."""
    server = ApiServer()
    send(server, "POST", CONFIG_MAPS, config_map("a", "x"))
    checkpoint = server.checkpoint()
    first = send(server, "GET", CONFIG_MAPS)
    for name in ("b", "c"):
        send(server, "POST", CONFIG_MAPS, config_map(name, "x"))
        server.rollback(checkpoint, CountingEnvironment(), [])
        before = SHARED_READS.hits
        assert send(server, "GET", CONFIG_MAPS) == first
        assert SHARED_READS.hits == before + 1


def test_equal_revisions_with_other_records_are_not_confused() -> None:
    """Two writes lead to the same revision on two servers, with different objects."""
    answers = []
    for name in ("one", "two"):
        server = ApiServer()
        send(server, "POST", CONFIG_MAPS, config_map(name, "x"))
        answers.append(send(server, "GET", CONFIG_MAPS).body)
    assert b'"one"' in answers[0]
    assert b'"two"' in answers[1]


def test_tables_and_watches_are_not_kept() -> None:
    """A table has ages, which change with time."""
    server = ApiServer()
    send(server, "POST", CONFIG_MAPS, config_map("a", "x"))
    before = SHARED_READS.hits, SHARED_READS.misses
    send(server, "GET", CONFIG_MAPS, accept=TABLE)
    send(server, "GET", CONFIG_MAPS, resourceVersion="0")
    server.answer(HttpRequest("GET", CONFIG_MAPS, (("watch", "1"),), {}, b""))
    assert (SHARED_READS.hits, SHARED_READS.misses) == before
