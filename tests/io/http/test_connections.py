"""Our connections: which are reused, how many there are, and when they are closed."""

import asyncio
import ssl
from contextlib import suppress

import pytest

from myrmidon.errors import AmbiguousError, UnreachableError, UsageError
from myrmidon.io.access.addresses import Address
from myrmidon.io.http.pool import Limits, Pool
from tests.io.http.scripted_server import OK, Peer, play, pool_to, send


async def silent(peer: Peer) -> None:
    """Send nothing."""
    await peer.reader.read()


def test_a_connection_is_used_again_unless_the_server_says_no() -> None:
    """``Connection: close`` is obeyed."""
    seen: list[int] = []

    async def speak(peer: Peer) -> None:
        while True:
            await peer.request()
            seen.append(peer.number)
            close = b"Connection: close\r\n" if peer.number == 1 and len(seen) == 2 else b""
            peer.writer.write(OK.replace(b"Content", close + b"Content", 1))

    async def check(pool: Pool) -> None:
        for _ in range(4):
            assert (await send(pool)).body == b"ok"

    play(speak, check)
    assert seen == [1, 1, 2, 2]


def test_a_connection_that_was_idle_for_too_long_is_not_used_again() -> None:
    """A firewall or load balancer may have dropped it."""
    seen: list[int] = []

    async def speak(peer: Peer) -> None:
        while True:
            await peer.request()
            seen.append(peer.number)
            peer.writer.write(OK)

    async def check(pool: Pool) -> None:
        for _ in range(3):
            await send(pool)

    play(speak, check, keepalive_seconds=0.0)
    assert seen == [1, 2, 3]


def test_a_read_is_repeated_where_the_server_had_closed_the_connection() -> None:
    """It closes while the request is on its way; a write is not repeated."""

    async def speak(peer: Peer) -> None:
        await peer.request()
        peer.writer.write(OK)
        await peer.request()  # and closes instead of responding

    async def check(pool: Pool) -> None:
        await send(pool)
        assert (await send(pool, "GET")).body == b"ok"
        with pytest.raises(AmbiguousError, match="the server closed the connection"):
            await send(pool, "POST")

    play(speak, check)


def test_a_connection_that_the_server_closed_is_not_used_again() -> None:
    """It was idle, and the close was noticed."""
    closed = asyncio.Event()

    async def speak(peer: Peer) -> None:
        await peer.request()
        peer.writer.write(OK)
        if peer.number == 1:
            peer.writer.close()
            await peer.writer.wait_closed()
            closed.set()
        else:
            await peer.reader.read()

    async def check(pool: Pool) -> None:
        await send(pool, "POST")
        await closed.wait()
        await asyncio.sleep(0.01)  # noqa: TID251  lets the goodbye arrive
        assert (await send(pool, "POST")).body == b"ok"

    play(speak, check)


@pytest.mark.parametrize("how", ["send", "stream"])
def test_a_cancelled_request_closes_its_connection(how: str) -> None:
    """Otherwise its response would be taken for that of the next request."""
    asked, gone = asyncio.Event(), asyncio.Event()

    async def speak(peer: Peer) -> None:
        await peer.request()
        asked.set()
        with suppress(ConnectionError):
            assert await peer.reader.read() == b""
        gone.set()

    async def check(pool: Pool) -> None:
        async with asyncio.TaskGroup() as group:
            ask = send(pool) if how == "send" else pool.stream("GET", "/", ())
            task = group.create_task(ask)
            await asked.wait()
            task.cancel()
        await gone.wait()

    play(speak, check)


class LaterLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock can be put forward."""

    later = 0.0

    def time(self) -> float:
        """The time of this machine, plus an offset."""
        return super().time() + self.later


def test_connections_that_are_not_needed_are_closed() -> None:
    """After many parallel requests, a few sequential ones keep one connection."""
    ended: list[int] = []
    storm, two = asyncio.Event(), asyncio.Event()

    async def speak(peer: Peer) -> None:
        while await peer.reader.readline():
            await peer.reader.readuntil(b"\r\n\r\n")
            if peer.number == 3:
                storm.set()
            await storm.wait()
            peer.writer.write(OK)
        ended.append(peer.number)
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


def test_a_write_without_a_body_has_a_content_length() -> None:
    """Some servers wait for a body otherwise."""
    heads: list[bytes] = []

    async def speak(peer: Peer) -> None:
        while True:
            heads.append(await peer.request())
            peer.writer.write(OK)

    async def check(pool: Pool) -> None:
        await send(pool, "DELETE")
        await send(pool, "GET")

    play(speak, check)
    assert [b"content-length: 0" in head for head in heads] == [True, False]


def test_an_unsolicited_response_ends_the_connection() -> None:
    """It would be taken for the response to the next request."""
    seen: list[int] = []

    async def speak(peer: Peer) -> None:
        await peer.request()
        seen.append(peer.number)
        peer.writer.write(OK + OK.replace(b"ok", b"no") if peer.number == 1 else OK)
        await peer.reader.read()

    async def check(pool: Pool) -> None:
        assert (await send(pool)).body == b"ok"
        assert (await send(pool)).body == b"ok"

    play(speak, check)
    assert seen == [1, 2]


def test_no_more_connections_than_allowed() -> None:
    """Other requests wait, and a cancelled one gives its slot back."""
    seen: list[int] = []
    both, release = asyncio.Event(), asyncio.Event()

    async def speak(peer: Peer) -> None:
        seen.append(peer.number)
        if peer.number == 2:
            both.set()
        while True:
            await peer.request()
            await release.wait()
            peer.writer.write(OK)

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


def test_a_request_under_way_when_the_pool_closes_gets_its_response() -> None:
    """Its connection is closed afterwards."""
    pools: list[Pool] = []
    ended = asyncio.Event()

    async def speak(peer: Peer) -> None:
        await peer.request()
        pools[0].close()
        peer.writer.write(OK)
        assert await peer.reader.read() == b""
        ended.set()

    async def check(pool: Pool) -> None:
        pools.append(pool)
        assert (await send(pool)).body == b"ok"
        await ended.wait()

    play(speak, check)


def test_a_connection_timeout_means_not_sent() -> None:
    """The server does not complete the TLS handshake."""

    async def speak(peer: Peer) -> None:
        await peer.reader.read()

    async def main() -> None:
        async with pool_to(speak) as plain:
            address = plain.address._replace(tls=ssl.create_default_context())
            pool = Pool(address, Limits(1, connect_seconds=0.05, keepalive_seconds=1.0))
            with pytest.raises(
                UnreachableError, match=r"127\.0\.0\.1:\d+: no connection within 0.05 s"
            ):
                await send(pool)

    asyncio.run(main())


@pytest.mark.parametrize("target", ["/a b", "/a\r\nx: y", "/ä"])
def test_a_request_that_would_be_two_requests_is_refused(target: str) -> None:
    """A line break in its target or in a header; nothing is sent."""

    async def check(pool: Pool) -> None:
        with pytest.raises(UsageError, match="cannot be sent"):
            await send(pool, "GET", target)
        with pytest.raises(UsageError, match="cannot be sent"):
            await pool.send("GET", "/", (("x", "a\r\nhost: b"),), b"")

    play(silent, check)


def test_addresses() -> None:
    """Ports by scheme, and IPv6 in brackets."""
    assert str(Address.of("https://a.example", None)) == "a.example:443"
    assert str(Address.of("http://a.example", None)) == "a.example:80"
    assert str(Address.of("https://[::1]:6443", None)) == "[::1]:6443"


def test_a_response_before_the_request_was_read_ends_the_connection() -> None:
    """A 413 to a large object: the rest of it would precede the next request."""
    first = asyncio.Event()

    async def speak(peer: Peer) -> None:
        await peer.request()
        if peer.number == 1:
            peer.writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
            await first.wait()
        else:
            peer.writer.write(OK)

    async def check(pool: Pool) -> None:
        answer = await pool.send("POST", "/", (), b"x" * 50_000_000)
        assert answer.status == 413
        assert (await send(pool, "POST")).status == 200
        first.set()

    play(speak, check)


def test_an_informational_response_does_not_begin_a_stream() -> None:
    """A 1xx response precedes the final one."""

    async def speak(peer: Peer) -> None:
        await peer.request()
        peer.writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        peer.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na\nb\n")
        await peer.reader.read()

    async def check(pool: Pool) -> None:
        stream = await pool.stream("GET", "/", ())
        assert (stream.status, [line async for line in stream.lines()]) == (200, [b"a", b"b"])
        stream.hang_up()

    play(speak, check)


def test_a_stream_that_never_begins_is_ambiguous() -> None:
    """The server closes instead of responding."""

    async def speak(peer: Peer) -> None:
        await peer.request()

    async def check(pool: Pool) -> None:
        with pytest.raises(AmbiguousError, match="the server closed the connection"):
            await pool.stream("GET", "/", ())

    play(speak, check)


@pytest.mark.parametrize("upgrade", [b"", b"Connection: upgrade\r\nUpgrade: h2c\r\n"])
@pytest.mark.parametrize("how", ["send", "stream"])
def test_a_protocol_switch_is_refused_at_once(how: str, upgrade: bytes) -> None:
    """After a 101 no HTTP response follows, so there is nothing to wait for."""

    async def speak(peer: Peer) -> None:
        await peer.request()
        peer.writer.write(b"HTTP/1.1 101 Switching Protocols\r\n" + upgrade + b"\r\n")
        await peer.reader.read()

    async def check(pool: Pool) -> None:
        with pytest.raises(AmbiguousError, match="another protocol"):
            await (send(pool) if how == "send" else pool.stream("GET", "/", ()))

    play(speak, check)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("extra", [b"HTTP/1.1 408 Requ", OK, b"garbage"])
@pytest.mark.parametrize("when", ["with the answer", "later", "unread"])
def test_bytes_that_belong_to_no_request_end_the_connection(
    monkeypatch: pytest.MonkeyPatch, method: str, extra: bytes, when: str
) -> None:
    """The next response would begin in the middle of them; the next request is not lost.

    This includes bytes that have arrived in the kernel and that the event loop has not read.
    """
    monkeypatch.setattr("myrmidon.io.http.pool._UNCHECKED_SECONDS", 0.0)
    seen: list[int] = []
    wanted, said = asyncio.Event(), asyncio.Event()

    async def speak(peer: Peer) -> None:
        await peer.request()
        seen.append(peer.number)
        is_first = peer.number == 1
        peer.writer.write(OK + extra if is_first and when == "with the answer" else OK)
        if is_first:
            await wanted.wait()
            if when != "with the answer":
                peer.writer.write(extra)
            said.set()
        await peer.reader.read()

    async def check(pool: Pool) -> None:
        assert (await send(pool, "POST")).body == b"ok"
        if when == "unread":
            wire = pool._idle[0][1].wire
            assert wire is not None
            wire.pause()
        wanted.set()
        await said.wait()
        assert (await send(pool, method)).body == b"ok"

    play(speak, check)
    assert seen == [1, 2]


def test_a_read_whose_response_had_begun_is_not_repeated() -> None:
    """It did not fail because the connection was old."""
    seen: list[int] = []

    async def speak(peer: Peer) -> None:
        await peer.request()
        peer.writer.write(OK)
        await peer.request()
        seen.append(peer.number)
        peer.writer.write(OK[:-1])

    async def check(pool: Pool) -> None:
        await send(pool)
        with pytest.raises(AmbiguousError, match="the server closed the connection"):
            await send(pool)

    play(speak, check)
    assert seen == [1]


def test_a_server_that_closes_before_the_request_did_not_get_it() -> None:
    """It closes between the handshake and the request: the request took no effect."""

    async def speak(peer: Peer) -> None:
        await peer.reader.read()

    async def check(pool: Pool) -> None:
        connection = await pool._connect()
        connection.lost(None)
        with pytest.raises(UnreachableError, match="the server closed the connection"):
            await connection.exchange(b"GET / HTTP/1.1\r\n\r\n")
        with pytest.raises(UnreachableError, match="the server closed the connection"):
            await connection.begin(b"GET / HTTP/1.1\r\n\r\n")

    play(speak, check)
