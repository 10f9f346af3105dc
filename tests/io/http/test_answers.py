"""How a connection parses a response, in whatever pieces it arrives."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.requests.transport import HttpResponse
from myrmidon.errors import AmbiguousError, UnreachableError
from myrmidon.io.http.connections import Connection
from myrmidon.io.http.wires import Wire
from tests.io.http.scripted_server import OK


class Deaf:
    """A wire that drops what is sent."""

    is_flushed = True
    is_closed = False

    def write(self, data: bytes) -> None:
        """Drop the data."""

    def close(self) -> None:
        """Record the close."""
        self.is_closed = True

    def reset(self) -> None:
        """Record the reset."""
        self.is_closed = True


def heard(pieces: Sequence[bytes], *, then_closed: bool = False) -> HttpResponse:
    """Return the result of a connection that receives bytes in these pieces."""

    async def main() -> HttpResponse:
        connection = Connection()
        connection.wire = cast("Wire", Deaf())
        loop = asyncio.get_running_loop()
        for piece in pieces:
            loop.call_soon(connection.received, piece)
        if then_closed:
            loop.call_soon(connection.lost, None)
        return await connection.exchange(b"")

    return asyncio.run(main())


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    """Split the data into pieces."""
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[begin:end] for begin, end in pairwise(edges) if end > begin]


@given(
    body=st.binary(max_size=50),
    chunks=st.none() | st.lists(st.integers(0, 50), max_size=4),
    places=st.lists(st.integers(0, 300), max_size=8),
)
def test_an_answer_is_the_same_however_it_is_cut(
    body: bytes, chunks: list[int] | None, places: list[int]
) -> None:
    """With Content-Length or in chunks, byte by byte or at once."""
    if chunks is None:
        framed = b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    else:
        parts = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in cut(body, chunks))
        framed = b"Transfer-Encoding: chunked\r\n\r\n" + parts + b"0\r\n\r\n"
    answer = heard(cut(b"HTTP/1.1 201 Created\r\nX-One: a\r\nx-one: b\r\n" + framed, places))
    assert (answer.status, answer.body) == (201, body)
    assert answer.headers[:2] == (("x-one", "a"), ("x-one", "b"))


def test_an_informational_response_is_skipped() -> None:
    """A 1xx response precedes the final one."""
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    answer = heard([early, OK])
    assert answer == HttpResponse(200, (("content-length", "2"),), b"ok")


def test_no_content_needs_no_length() -> None:
    """204 ends with its headers."""
    assert heard([b"HTTP/1.1 204 No Content\r\n\r\n"]) == HttpResponse(204)


def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    """As an HTTP/1.0 load balancer sends it."""
    answer = heard([b"HTTP/1.0 503 Busy\r\n\r\nla", b"ter"], then_closed=True)
    assert (answer.status, answer.body) == (503, b"later")


@pytest.mark.parametrize(
    "said",
    [b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhal", b""],
)
def test_an_incomplete_response_is_ambiguous(said: bytes) -> None:
    """Another protocol, half a body, no byte at all: the request may have taken effect."""
    why = "the answer is not HTTP" if b"SSH" in said else "the server closed the connection"
    with pytest.raises(AmbiguousError, match=why):
        heard([said] if said else [], then_closed=True)


@pytest.mark.parametrize("data", [b"\r\n", b"H", b"HTTP/1.1 408 Request Timeout\r\n", b"no HTTP"])
def test_a_connection_that_hears_bytes_while_it_is_idle_is_closed(data: bytes) -> None:
    """At once, not with the next request; one byte is enough."""

    async def main() -> None:
        connection, wire = Connection(), Deaf()
        connection.wire = cast("Wire", wire)
        asyncio.get_running_loop().call_soon(connection.received, OK)
        await connection.exchange(b"")
        assert (connection.is_reusable, wire.is_closed) == (True, False)
        connection.received(data)
        assert (connection.is_reusable, wire.is_closed) == (False, True)
        with pytest.raises(UnreachableError, match="belong to no request"):
            await connection.exchange(b"")

    asyncio.run(main())
