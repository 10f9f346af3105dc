"""Connections of our own, against servers that say whatever the test wants, in whatever pieces."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.wire import HttpResponse
from myrmidon.errors import AmbiguousError, UnreachableError, UsageError
from myrmidon.io.connections import Address, Connection, Pool

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Speaking = Callable[[int, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def pool_to(speaking: Speaking, **options: Any) -> AsyncIterator[Pool]:
    """A pool of connections to a server that speaks like this on each of them, from 1 on."""
    count = 0
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        writers.append(writer)
        try:
            await speaking(count, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    limits = {"connections_max": 10, "connect_seconds": 5.0, "keepalive_seconds": 30.0, **options}
    pool = Pool(Address(host, port), **limits)
    try:
        yield pool
    finally:
        pool.close()
        server.close()
        for writer in writers:
            writer.transport.abort()
        await server.wait_closed()


async def request(reader: asyncio.StreamReader) -> bytes:
    """Read the head of one request; none of these tests sends a body."""
    return await reader.readuntil(b"\r\n\r\n")


async def send(pool: Pool, method: str = "GET", target: str = "/") -> HttpResponse:
    """Send a request without a body."""
    return await pool.send(method, target, (), b"")


def saying(*answers: bytes) -> Speaking:
    """Answer each request of a connection with the next of these."""

    async def speak(
        number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        del number
        for answer in answers:
            await request(reader)
            writer.write(answer)

    return speak


def play(speaking: Speaking, check: Callable[[Pool], Awaitable[None]], **options: Any) -> None:
    """Run a check on a pool to the server."""

    async def main() -> None:
        async with pool_to(speaking, **options) as pool:
            await check(pool)

    asyncio.run(main())


# --------------------------------------------------------------------------- reading answers


class Wire(asyncio.Transport):
    """A transport that keeps nothing."""

    def write(self, data: Any) -> None:
        """Forget it."""

    def abort(self) -> None:
        """Do nothing."""

    def get_write_buffer_size(self) -> int:
        """Nothing is kept."""
        return 0


def heard(pieces: Sequence[bytes], *, then_closed: bool = False) -> HttpResponse:
    """What a connection makes of bytes that come in these pieces."""

    async def main() -> HttpResponse:
        connection = Connection()
        connection.connection_made(Wire())
        loop = asyncio.get_running_loop()
        for piece in pieces:
            loop.call_soon(connection.data_received, piece)
        if then_closed:
            loop.call_soon(connection.connection_lost, None)
        return await connection.exchange(b"")

    return asyncio.run(main())


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    """The data in pieces."""
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
    """With its length in front or in chunks, byte by byte or at once."""
    if chunks is None:
        framed = b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    else:
        parts = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in cut(body, chunks))
        framed = b"Transfer-Encoding: chunked\r\n\r\n" + parts + b"0\r\n\r\n"
    answer = heard(cut(b"HTTP/1.1 201 Created\r\nX-One: a\r\nx-one: b\r\n" + framed, places))
    assert (answer.status, answer.body) == (201, body)
    assert answer.headers[:2] == (("x-one", "a"), ("x-one", "b"))


def test_an_early_word_is_no_answer() -> None:
    """1xx comes before the answer."""
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    answer = heard([early, OK])
    assert answer == HttpResponse(200, (("content-length", "2"),), b"ok")


def test_no_content_needs_no_length() -> None:
    """204 ends with its headers."""
    assert heard([b"HTTP/1.1 204 No Content\r\n\r\n"]) == HttpResponse(204)


def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    """As a balancer of another age says it."""
    answer = heard([b"HTTP/1.0 503 Busy\r\n\r\nla", b"ter"], then_closed=True)
    assert (answer.status, answer.body) == (503, b"later")


@pytest.mark.parametrize(
    "said",
    [b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhal", b""],
)
def test_what_is_no_whole_answer_may_have_happened(said: bytes) -> None:
    """Another protocol, half a body, nothing at all."""
    why = "the answer is no HTTP" if b"SSH" in said else "the server closed the connection"
    with pytest.raises(AmbiguousError, match=why):
        heard([said] if said else [], then_closed=True)


# ------------------------------------------------------------------------------- the pool


def test_a_connection_is_used_again_unless_the_server_says_no() -> None:
    """``Connection: close`` is obeyed."""
    seen: list[int] = []

    async def speak(
        number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while True:
            await request(reader)
            seen.append(number)
            close = b"Connection: close\r\n" if number == 1 and len(seen) == 2 else b""
            writer.write(OK.replace(b"Content", close + b"Content", 1))

    async def check(pool: Pool) -> None:
        for _ in range(4):
            assert (await send(pool)).body == b"ok"

    play(speak, check)
    assert seen == [1, 1, 2, 2]


def test_a_connection_that_was_idle_for_too_long_is_not_used_again() -> None:
    """Something on the way may have forgotten it."""
    seen: list[int] = []

    async def speak(
        number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while True:
            await request(reader)
            seen.append(number)
            writer.write(OK)

    async def check(pool: Pool) -> None:
        for _ in range(3):
            await send(pool)

    play(speak, check, keepalive_seconds=0.0)
    assert seen == [1, 2, 3]


def test_a_read_is_repeated_where_the_server_had_closed_the_connection() -> None:
    """It closes while the request is on its way; a write is not repeated."""

    async def speak(
        number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await request(reader)
        writer.write(OK)
        await request(reader)  # and closes instead of an answer

    async def check(pool: Pool) -> None:
        await send(pool)
        assert (await send(pool, "GET")).body == b"ok"
        with pytest.raises(AmbiguousError, match="the server closed the connection"):
            await send(pool, "POST")

    play(speak, check)


def test_a_connection_that_the_server_closed_is_not_used_again() -> None:
    """It was idle, and everybody knows."""
    closed = asyncio.Event()

    async def speak(
        number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await request(reader)
        writer.write(OK)
        if number == 1:
            writer.close()
            await writer.wait_closed()
            closed.set()
        else:
            await reader.read()

    async def check(pool: Pool) -> None:
        await send(pool, "POST")
        await closed.wait()
        await asyncio.sleep(0.01)  # noqa: TID251  lets the goodbye arrive
        assert (await send(pool, "POST")).body == b"ok"

    play(speak, check)


def test_a_request_that_was_given_up_takes_its_connection_along() -> None:
    """Its answer would be taken for another one's."""
    asked, gone = asyncio.Event(), asyncio.Event()

    async def speak(
        number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await request(reader)
        asked.set()
        with suppress(ConnectionError):
            assert await reader.read() == b""
        gone.set()

    async def check(pool: Pool) -> None:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(send(pool))
            await asked.wait()
            task.cancel()
        await gone.wait()

    play(speak, check)


class LaterLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock can be put forward."""

    later = 0.0

    def time(self) -> float:
        """The time of this machine, and some more."""
        return super().time() + self.later


def test_connections_that_nobody_needs_any_more_are_closed() -> None:
    """After a storm, a trickle keeps one of them."""
    ended: list[int] = []
    storm, two = asyncio.Event(), asyncio.Event()

    async def speak(
        number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while await reader.readline():
            await reader.readuntil(b"\r\n\r\n")
            if number == 3:
                storm.set()
            await storm.wait()
            writer.write(OK)
        ended.append(number)
        if len(ended) == 2:
            two.set()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, LaterLoop)
        async with pool_to(speak, keepalive_seconds=30.0) as pool:
            async with asyncio.TaskGroup() as group:
                for _ in range(3):
                    group.create_task(send(pool))
            for _ in range(4):
                loop.later += 20.0
                await send(pool)
            await two.wait()

    with asyncio.Runner(loop_factory=LaterLoop) as runner:
        runner.run(main())


def test_a_write_without_a_body_says_so() -> None:
    """Some servers wait for one otherwise."""
    heads: list[bytes] = []

    async def speak(
        number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while True:
            heads.append(await request(reader))
            writer.write(OK)

    async def check(pool: Pool) -> None:
        await send(pool, "DELETE")
        await send(pool, "GET")

    play(speak, check)
    assert [b"content-length: 0" in head for head in heads] == [True, False]


def test_an_answer_that_nobody_asked_for_ends_the_connection() -> None:
    """It would be taken for the answer to the next request."""
    seen: list[int] = []

    async def speak(
        number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await request(reader)
        seen.append(number)
        writer.write(OK + OK.replace(b"ok", b"no") if number == 1 else OK)
        await reader.read()

    async def check(pool: Pool) -> None:
        assert (await send(pool)).body == b"ok"
        assert (await send(pool)).body == b"ok"

    play(speak, check)
    assert seen == [1, 2]


def test_no_more_connections_than_allowed() -> None:
    """The others wait their turn, and one that gives up leaves its place."""
    seen: list[int] = []
    both, release = asyncio.Event(), asyncio.Event()

    async def speak(
        number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        seen.append(number)
        if number == 2:
            both.set()
        while True:
            await request(reader)
            await release.wait()
            writer.write(OK)

    async def check(pool: Pool) -> None:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(send(pool)) for _ in range(5)]
            await both.wait()
            tasks[0].cancel()
            tasks[4].cancel()
            release.set()
        assert [task.cancelled() for task in tasks] == [True, False, False, False, True]
        assert seen == [1, 2, 3], "two at a time; the cancelled one was not used again"

    play(speak, check, connections_max=2)


def test_what_is_in_use_when_the_pool_closes_gets_its_answer() -> None:
    """And is closed after it."""
    pools: list[Pool] = []
    ended = asyncio.Event()

    async def speak(
        number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await request(reader)
        pools[0].close()
        writer.write(OK)
        assert await reader.read() == b""
        ended.set()

    async def check(pool: Pool) -> None:
        pools.append(pool)
        assert (await send(pool)).body == b"ok"
        await ended.wait()

    play(speak, check)


def test_no_connection_in_time_was_not_sent() -> None:
    """Nobody answers the TLS handshake."""

    async def speak(
        number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.read()

    async def main() -> None:
        async with pool_to(speak) as plain:
            address = plain.address._replace(tls=ssl.create_default_context())
            pool = Pool(address, connections_max=1, connect_seconds=0.05, keepalive_seconds=1.0)
            with pytest.raises(
                UnreachableError, match=r"127\.0\.0\.1:\d+: no connection in 0.05 s"
            ):
                await send(pool)

    asyncio.run(main())


@pytest.mark.parametrize("target", ["/a b", "/a\r\nx: y", "/ä"])
def test_what_would_be_two_requests_is_refused(target: str) -> None:
    """Before anything is sent."""

    async def check(pool: Pool) -> None:
        with pytest.raises(UsageError, match="cannot be sent"):
            await send(pool, "GET", target)
        with pytest.raises(UsageError, match="cannot be sent"):
            await pool.send("GET", "/", [("x", "a\r\nhost: b")], b"")

    play(saying(), check)


def test_addresses() -> None:
    """Ports by scheme, and IPv6 in brackets."""
    assert str(Address.of("https://a.example", None)) == "a.example:443"
    assert str(Address.of("http://a.example", None)) == "a.example:80"
    assert str(Address.of("https://[::1]:6443", None)) == "[::1]:6443"


def test_an_answer_before_the_request_was_read_ends_the_connection() -> None:
    """413 to a large object: the rest of it would stand before the next request."""
    first = asyncio.Event()

    async def speak(
        number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await request(reader)
        if number == 1:
            writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
            await first.wait()
        else:
            writer.write(OK)

    async def check(pool: Pool) -> None:
        answer = await pool.send("POST", "/", (), b"x" * 50_000_000)
        assert answer.status == 413
        assert (await send(pool, "POST")).status == 200
        first.set()

    play(speak, check)
