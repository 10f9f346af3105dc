"""Whatever a client sends, the server answers with an error of the API and does not change.

Valid responses are the status code of the real server, which has a few plain 500s (``REAL_500S``),
or a clear 4xx.  An exception, any other 500, a line in the log, or an object that changed although
the request failed is a bug.
"""

import asyncio
import json
import logging
import socket
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from myrmidon.api.requests.transport import HttpRequest
from myrmidon.apiserver.fronts.http import serve
from myrmidon.apiserver.fronts.http_parser import ProtocolError, RequestReader
from myrmidon.apiserver.server import ApiServer
from myrmidon.apiserver.wire import protobuf
from tests.apiserver.fuzzing import (
    APPLY,
    COLLECTIONS,
    GROUP,
    JSON,
    JSON_PATCH,
    MERGE,
    PATHS,
    QUERIES,
    QUERY_KEYS,
    QUERY_VALUES,
    STRATEGIC,
    YAML,
    ask,
    documents,
    patches,
    request,
)

# ------------------------------------------------------------------------- bodies


@settings(max_examples=1000)
@given(data=st.data(), path=PATHS, method=st.sampled_from(["POST", "PUT"]), query=QUERIES)
def test_wrong_types_anywhere_in_an_object(
    data: st.DataObject, path: str, method: str, query: list[tuple[str, str]]
) -> None:
    """Some parts of an object have a value of another type."""
    body = data.draw(documents(COLLECTIONS[path]))
    target = path if method == "POST" else f"{path}/{COLLECTIONS[path]['metadata']['name']}"

    ask(request(method, target, json.dumps(body).encode(), JSON, query))


@settings(max_examples=1000)
@given(data=st.data(), path=PATHS, query=QUERIES, below=st.sampled_from(["", "/status", "/scale"]))
def test_wrong_types_anywhere_in_a_patch(
    data: st.DataObject, path: str, query: list[tuple[str, str]], below: str
) -> None:
    """The same for patches of all types, which go through other code."""
    media, patch = data.draw(patches(path))
    target = f"{path}/{COLLECTIONS[path]['metadata']['name']}{below}"
    manager = [("fieldManager", "fuzz")] if media == APPLY else []

    ask(request("PATCH", target, json.dumps(patch).encode(), media, [*manager, *query]))


@settings(max_examples=600)
@given(data=st.data(), path=PATHS, media=st.sampled_from([JSON, YAML, MERGE, APPLY, STRATEGIC]))
def test_malformed_text(data: st.DataObject, path: str, media: str) -> None:
    """Text that was cut, or in which bytes have changed."""
    text = bytearray(json.dumps(COLLECTIONS[path]).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        index = data.draw(st.integers(0, len(text)))
        text[index : index + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    method = "POST" if media in {JSON, YAML} else "PATCH"
    name = COLLECTIONS[path]["metadata"]["name"]
    target = path if method == "POST" else f"{path}/{name}"

    ask(request(method, target, bytes(text), media, [("fieldManager", "fuzz")]))


@settings(max_examples=300)
@given(path=PATHS, body=st.binary(max_size=60), magic=st.booleans(), data=st.data())
def test_protobuf_garbage(path: str, body: bytes, magic: bool, data: st.DataObject) -> None:
    """Bytes with the content type of protobuf."""
    text = b"k8s\x00" + body if magic else body

    ask(request("POST", path, text, protobuf.MEDIA_TYPE, data.draw(QUERIES)))


@settings(max_examples=300)
@given(
    path=PATHS,
    body=st.sampled_from([b"", b"{}", b"null", b"[]", b"1", b'"x"', b"{", b"\xff\xfe", b"a: b"]),
    method=st.sampled_from(
        ["POST", "PUT", "PATCH", "DELETE", "GET", "HEAD", "OPTIONS", "TRACE", "x"]
    ),
    media=st.text(max_size=8)
    | st.sampled_from(["text/html", "application/json;x", "a/b/c", ";", "application/cbor"]),
    accept=st.text(max_size=8)
    | st.sampled_from(
        [
            "*/*",
            "text/html",
            "application/json;as=Table",
            ",",
            "application/json;as=Table;g=meta.k8s.io;v=v1",
            protobuf.MEDIA_TYPE,
            f"{protobuf.MEDIA_TYPE};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
        ]
    ),
)
def test_unknown_media_types_and_methods(
    path: str, body: bytes, method: str, media: str, accept: str
) -> None:
    """Unknown types in Content-Type and in Accept."""
    for target in (path, f"{path}/a", f"{path}/a/status"):
        headers = {"content-type": media, "accept": accept}
        ask(HttpRequest(method, target, (), headers, body))


@pytest.mark.parametrize("size", [3 * 1024 * 1024, 3 * 1024 * 1024 + 1, 5 * 1024 * 1024])
@pytest.mark.parametrize(("method", "media"), [("POST", JSON), ("PUT", JSON), ("PATCH", MERGE)])
def test_oversized_bodies(size: int, method: str, media: str) -> None:
    """Three mebibytes, and more than that."""
    body = b'{"metadata":{"name":"a"},"data":{"k":"' + b"x" * size + b'"}}'
    path = "/api/v1/namespaces/default/configmaps" + ("" if method == "POST" else "/a")

    assert ask(request(method, path, body, media, [])).status == 413


@pytest.mark.parametrize("depth", [100, 2000, 100_000])
@pytest.mark.parametrize("media", [JSON, YAML, MERGE, JSON_PATCH, STRATEGIC, APPLY])
def test_deep_nesting(depth: int, media: str) -> None:
    """Depths that would exhaust the stack of a recursive function."""
    text = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":%b%b}' % (
        b"[" * depth,
        b"]" * depth,
    )
    method = "POST" if media in {JSON, YAML} else "PATCH"
    for path in (
        "/api/v1/namespaces/default/configmaps",
        f"/apis/{GROUP}/v1/namespaces/default/racks",
    ):
        target = path if method == "POST" else f"{path}/a"
        answer = ask(request(method, target, text, media, [("fieldManager", "fuzz")]))
        assert answer.status >= 400


# ------------------------------------------------------------------------- paths and queries

SEGMENTS = st.one_of(
    st.text(max_size=5),
    st.sampled_from(
        ["api", "apis", "v1", "apps", GROUP, "namespaces", "default", "configmaps", "racks", "a", "status",
         "scale", "watch", "", ".", "..", "%2e%2e", "%2f", "%2Fa", "%00", "%", "%zz", "x" * 5000, "é",
         "a%20b", "openapi", "v3", "v2", "healthz", "version", "proxy", "log", "binding", "eviction",
         "pods", "nodes", "finalize", "token", "serviceaccounts", "customresourcedefinitions"]
    ),
)  # fmt: skip


@settings(max_examples=1500)
@given(
    parts=st.lists(SEGMENTS, max_size=9),
    method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"]),
    query=QUERIES,
)
@example(parts=["api", "v1", "namespaces", "..", "configmaps", "a"], method="DELETE", query=[])
def test_hostile_paths(parts: list[str], method: str, query: list[tuple[str, str]]) -> None:
    """Dots, escaped slashes, very long names, and paths that do not exist."""
    media = MERGE if method == "PATCH" else JSON

    ask(request(method, f"/{'/'.join(parts)}", b"{}" if method != "GET" else b"", media, query))


@settings(max_examples=800)
@given(
    path=PATHS,
    query=st.lists(st.tuples(st.sampled_from(QUERY_KEYS), QUERY_VALUES), max_size=5),
    method=st.sampled_from(["GET", "DELETE"]),
    one=st.booleans(),
)
def test_random_queries(path: str, query: list[tuple[str, str]], method: str, one: bool) -> None:
    """Options in invalid combinations."""
    ask(request(method, f"{path}/a" if one else path, b"", JSON, query))


# ------------------------------------------------------------------------- bytes

VALID = (
    b"GET /api/v1/namespaces/default HTTP/1.1\r\nhost: x\r\n\r\n",
    b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}",
    b"POST /api/v1/namespaces HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    b"GET /version HTTP/1.0\r\n\r\n",
)


@st.composite
def mangled(draw: st.DrawFn) -> bytes:
    """Draw a sequence of requests in which some bytes have changed."""
    text = bytearray(b"".join(draw(st.lists(st.sampled_from(VALID), min_size=1, max_size=3))))
    for _ in range(draw(st.integers(0, 4))):
        index = draw(st.integers(0, len(text)))
        text[index : index + draw(st.integers(0, 4))] = draw(
            st.binary(max_size=4)
            | st.sampled_from([b"\r\n", b"\n", b"\x00", b":", b"\r\n\r\n", b"fffffff"])
        )
    return bytes(text)


@settings(max_examples=2000)
@given(text=mangled() | st.binary(max_size=80), cuts=st.lists(st.integers(0, 200), max_size=4))
def test_any_bytes_are_requests_or_refused(text: bytes, cuts: list[int]) -> None:
    """The parser returns the same requests for every way to cut the bytes."""
    assert _read([text]) == _read(_cut(text, cuts))


def _cut(text: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    return [text[start:end] for start, end in pairwise(edges)]


def _read(parts: list[bytes]) -> list[Any]:
    reader = RequestReader()
    found: list[Any] = []
    try:
        for part in parts:
            reader.feed(part)
            while (incoming := reader.next()) is not None:
                found.append(incoming)
    except ProtocolError as error:
        found.append(error.status)
    return found


@settings(max_examples=150)
@given(text=mangled(), closes=st.sampled_from(["both", "half", "none"]))
def test_a_connection_that_misbehaves_affects_no_other(text: bytes, closes: str) -> None:
    """Garbage, pipelined requests, half-closed and broken connections, over real sockets."""
    assert asyncio.run(_misbehave(text, closes)) == b"ok"


async def _misbehave(text: bytes, closes: str) -> bytes:
    said: list[logging.LogRecord] = []
    recorder = logging.Handler()
    recorder.emit = said.append  # type: ignore[method-assign,assignment]
    logging.getLogger("myrmidon").addHandler(recorder)
    async with serve(_server()) as url:
        port = int(url.rpartition(":")[2])
        bad = socket.create_connection(("127.0.0.1", port))
        try:
            bad.sendall(text)
            if closes == "half":
                bad.shutdown(socket.SHUT_WR)
            elif closes == "both":
                bad.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n")
            answer = await reader.read()
            writer.close()
            await writer.wait_closed()
        finally:
            bad.close()
    logging.getLogger("myrmidon").removeHandler(recorder)
    assert said == []
    return answer.rpartition(b"\r\n\r\n")[2]


@cache
def _server() -> ApiServer:
    return ApiServer()
