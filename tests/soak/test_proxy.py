"""The proxy of the soak breaks connections as documented."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.soak.pace import pause
from tests.soak.proxy import Proxy, reset

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def with_echo(scenario: Callable[[Proxy, Streams, list[bytes]], Awaitable[None]]) -> None:
    """Run a scenario with a proxy before a server that echoes and records what it receives."""
    heard: list[bytes] = []

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(100):
                heard.append(data)
                writer.write(data)
        except OSError:
            heard.append(b"reset")
        else:
            heard.append(b"end")
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        async with server, Proxy(server.sockets[0].getsockname()[1]).serving() as proxy:
            streams = await asyncio.open_connection("127.0.0.1", proxy.port)
            streams[1].write(b"hello")
            assert await streams[0].read(100) == b"hello"
            await scenario(proxy, streams, heard)
            streams[1].close()

    asyncio.run(main())


async def until(check: Callable[[], bool]) -> None:
    """Wait until ``holds`` is true, which another task causes."""
    for _ in range(500):
        if check():
            return
        await pause(0.01)
    raise AssertionError("it did not happen")


def test_reset_is_a_reset() -> None:
    """Not the end of a stream."""

    async def scenario(proxy: Proxy, streams: Streams, heard: list[bytes]) -> None:
        assert proxy.reset() == 1
        with pytest.raises(ConnectionResetError):
            await streams[0].read(100)
        await until(lambda: heard[-1] == b"reset")

    with_echo(scenario)


def test_cut_is_an_orderly_end() -> None:
    """Both sides read the end."""

    async def scenario(proxy: Proxy, streams: Streams, heard: list[bytes]) -> None:
        assert proxy.cut() == 1
        assert await streams[0].read(100) == b""
        await until(lambda: heard[-1] == b"end")

    with_echo(scenario)


def test_half_close_still_reads_from_the_client() -> None:
    """The client reads the end; its bytes arrive, and the responses do not."""

    async def scenario(proxy: Proxy, streams: Streams, heard: list[bytes]) -> None:
        assert proxy.half_close() == 1
        assert await streams[0].read(100) == b""
        streams[1].write(b"more")
        await until(lambda: heard[-1] == b"more")

    with_echo(scenario)


@pytest.mark.parametrize("is_reset", [True, False], ids=["reset", "closed in good order"])
def test_stalled_bytes_arrive_unless_their_sender_reset(is_reset: bool) -> None:
    """A write that is given up with a reset is not delivered late."""

    async def scenario(proxy: Proxy, streams: Streams, heard: list[bytes]) -> None:
        (link,) = proxy._links
        link.flows.clear()
        streams[1].write(b"late")
        if is_reset:
            reset(streams[1])
            await until(link.client.transport.is_closing)
        else:
            streams[1].close()
        link.flows.set()
        await until(lambda: heard[-1] in (b"end", b"reset"))
        assert (b"late" in heard) is not is_reset

    with_echo(scenario)


def test_refused_connections_end_before_a_byte() -> None:
    """New connections as well as old ones."""

    async def scenario(proxy: Proxy, streams: Streams, heard: list[bytes]) -> None:
        async with asyncio.TaskGroup() as group:
            refusing = group.create_task(proxy.refuse(60.0))
            with pytest.raises(ConnectionResetError):
                await streams[0].read(100)
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            with pytest.raises(ConnectionResetError):
                await reader.read(100)
            writer.close()
            refusing.cancel()

    with_echo(scenario)
