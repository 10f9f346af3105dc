"""The HTTP parser: requests cut in any way, and malformed in many ways."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.apiserver.fronts.http_parser import (
    HEAD_BYTES_MAX,
    Incoming,
    ProtocolError,
    RequestReader,
)
from myrmidon.apiserver.verbs.bodies import BODY_BYTES_MAX

TOKENS = st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1, max_size=8)


def read(*pieces: bytes) -> list[Incoming]:
    """Return all requests in the pieces."""
    reader, found = RequestReader(), []
    for piece in pieces:
        reader.feed(piece)
        while (incoming := reader.next()) is not None:
            found.append(incoming)
    return found


@st.composite
def written_requests(draw: st.DrawFn) -> tuple[bytes, bytes, str]:
    """Draw a well-formed request, its body and its path."""
    path = "/" + "/".join(draw(st.lists(TOKENS, max_size=4)))
    body = draw(st.binary(max_size=300))
    lines = [f"POST {path} HTTP/1.1".encode(), b"host: x"]
    if draw(st.booleans()):
        lines.append(b"content-length: %d" % len(body))
        sent = body
    else:
        lines.append(b"transfer-encoding: chunked")
        size = draw(st.integers(1, 64))
        parts = [body[start : start + size] for start in range(0, len(body), size)]
        sent = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    return b"\r\n".join(lines) + b"\r\n\r\n" + sent, body, path


@given(requests=st.lists(written_requests(), min_size=1, max_size=3), data=st.data())
def test_requests_are_the_same_however_they_are_cut(
    requests: list[tuple[bytes, bytes, str]], data: st.DataObject
) -> None:
    """TCP delivers bytes in arbitrary pieces."""
    stream = b"".join(sent for sent, _, _ in requests)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [
        stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)
    ]
    found = read(*pieces)
    assert [(each.request.body, each.request.path) for each in found] == [
        (body, path) for _, body, path in requests
    ]


@given(noise=st.binary(max_size=400))
def test_noise_is_refused_or_waited_for(noise: bytes) -> None:
    """The parser raises nothing but ``ProtocolError``."""
    with suppress(ProtocolError):
        read(noise, b"\r\n\r\n")


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/2.0\r\n\r\n",
        b"GET /\r\n\r\n",
        b"G\x00T / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n folded\r\n\r\n",
        b"GET / HTTP/1.1\r\nbad header: x\r\n\r\n",
        b"GET / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n",
        b"GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n",
        b"GET /" + b"x" * HEAD_BYTES_MAX + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * HEAD_BYTES_MAX,
    ],
)
def test_malformed_requests_are_refused(sent: bytes) -> None:
    """Among them those that smuggle one request inside another."""
    with pytest.raises(ProtocolError):
        read(sent)


def test_a_body_that_is_too_large_is_neither_kept_nor_confused_with_the_next_request() -> None:
    """The handler sees that it is too large; the rest is dropped as it arrives."""
    size = 3 * BODY_BYTES_MAX
    head = b"POST /a HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % size
    found = read(head, b"x" * size, b"GET /b HTTP/1.1\r\n\r\n")
    assert [(each.request.path, len(each.request.body)) for each in found] == [
        ("/a", BODY_BYTES_MAX + 1),
        ("/b", 0),
    ]


def test_a_client_may_ask_before_it_sends_a_body() -> None:
    """With ``Expect: 100-continue``, as curl does for large bodies."""
    reader = RequestReader()
    reader.feed(b"PUT /a HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n")
    assert reader.next() is None
    assert (reader.wants_continue(), reader.wants_continue()) == (True, False)
    reader.feed(b"{}")
    assert reader.next() is not None


@pytest.mark.parametrize(
    ("sent", "keep_alive"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", True),
        (b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", False),
        (b"GET / HTTP/1.0\r\n\r\n", False),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", True),
    ],
)
def test_old_clients_close_their_connections(sent: bytes, keep_alive: bool) -> None:
    """As HTTP/1.0 requires."""
    assert read(sent)[0].keep_alive is keep_alive


def test_addresses_are_taken_apart() -> None:
    """Names stay escaped in the path: a name may contain a slash."""
    (found,) = read(b"GET http://host/a%2Fb?x=1&x=%20&y HTTP/1.1\r\n\r\n")
    assert found.request.path == "/a%2Fb"
    assert found.request.query == (("x", "1"), ("x", " "), ("y", ""))
