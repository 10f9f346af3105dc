"""Responses over sockets: headers, the final newline, and compression."""

import gzip
from http.client import HTTPResponse
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.fronts.http_responses import AuditIds, encoded

JSON = (("content-type", "application/json"),)


class Socket:
    """Bytes that http.client reads as from a connection."""

    def __init__(self, sent: bytes) -> None:
        self._sent = sent

    def makefile(self, _mode: str) -> BytesIO:
        """Return the bytes as a file."""
        return BytesIO(self._sent)


def received(
    response: HttpResponse, path: str = "/api/v1/pods", method: str = "GET", **headers: str
) -> tuple[HTTPResponse, bytes]:
    """Return a response as a client receives it."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    request = HttpRequest(method, path, (), names)
    sent = encoded(response, request, AuditIds().of(request), keep_alive=True)
    read = HTTPResponse(Socket(sent), method=method)  # type: ignore[arg-type]
    read.begin()
    return read, read.read()


def test_a_json_body_ends_with_a_newline() -> None:
    """As the encoder of the real server writes it; documents that are not objects do not."""
    assert received(HttpResponse(200, JSON, b"{}"))[1] == b"{}\n"
    assert received(HttpResponse(200, JSON, b"{}"), "/openapi/v2")[1] == b"{}"
    assert received(HttpResponse(403, JSON, b"{}"), "/openapi/v2")[1] == b"{}\n"
    text = (("content-type", "text/plain; charset=utf-8"),)
    assert received(HttpResponse(200, text, b"ok"), "/healthz")[1] == b"ok"
    assert received(HttpResponse(200, JSON, b"{}"), method="HEAD")[1] == b""


def test_every_response_has_an_audit_id_and_is_not_cached() -> None:
    """The id of the client, if it sent one; otherwise each request has another."""
    ids = AuditIds()
    made = {ids.of(HttpRequest("GET", "/", (), {})) for _ in range(3)}
    head, _ = received(HttpResponse(200, JSON, b"{}"), audit_id="mine")
    cached = (*JSON, ("cache-control", "public, max-age=3600"))

    assert len(made) == 3
    assert head.getheader("audit-id") == "mine"
    assert head.getheader("cache-control") == "no-cache, private"
    assert received(HttpResponse(200, cached))[0].headers.get_all("cache-control") == [
        "public, max-age=3600"
    ]


@given(
    size=st.sampled_from([0, 100, 128 * 1024 - 1, 128 * 1024, 500_000, 4 * 1024 * 1024]),
    accepted=st.sampled_from(["", "gzip", "deflate, gzip;q=1.0", "br", "identity"]),
)
def test_what_is_received_is_what_was_sent(size: int, accepted: str) -> None:
    """Compressed only if it is worth it and the client can read it."""
    body = b"x" * size
    headers: Any = {"accept_encoding": accepted} if accepted else {}
    head, got = received(HttpResponse(200, JSON, body), **headers)
    is_packed = head.getheader("content-encoding") == "gzip"

    assert is_packed == ("gzip" in accepted and 128 * 1024 <= size < 4 * 1024 * 1024)
    assert (gzip.decompress(got) if is_packed else got) == body + b"\n"
    assert int(head.getheader("content-length") or 0) == len(got)


@pytest.mark.parametrize("path", ["/openapi/v3/api/v1"])
def test_documents_that_the_real_server_never_compresses(path: str) -> None:
    """Clients cache them by their hash."""
    head, _ = received(HttpResponse(200, JSON, b"x" * 500_000), path, accept_encoding="gzip")

    assert head.getheader("content-encoding") is None
