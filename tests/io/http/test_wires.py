"""A wire: large pieces in both directions, slow readers, and every kind of end."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from myrmidon.io.access.addresses import Address
from myrmidon.io.http.dialing import dial
from myrmidon.io.http.wires import Bytes, Wire
from tests.cluster.controlplane.pki import Authority

Speaking = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
LARGE = bytes(range(256)) * 40_000  # 10 MB, more than any buffer on the way


class Ear:
    """Records what it receives."""

    def __init__(self) -> None:
        self.heard, self.count = bytearray(), 0
        self.error: Exception | None = None
        self.ended, self.more = asyncio.Event(), asyncio.Event()

    def received(self, data: Bytes) -> None:
        """Record the data."""
        self.heard += data
        self.count += 1
        self.more.set()

    def lost(self, error: Exception | None) -> None:
        """Record the end."""
        assert not self.ended.is_set(), "a wire is lost once"
        self.error = error
        self.ended.set()


@asynccontextmanager
async def wired(folder: Path | None, speaking: Speaking) -> AsyncIterator[tuple[Wire, Ear]]:
    """Return a wire to a server that runs this function; with TLS if there is a folder for it."""
    server_tls = client_tls = None
    if folder is not None:
        authority = Authority()
        authority.write(folder / "ca.crt")
        authority.issue_server(folder / "server", "server")
        server_tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        server_tls.load_cert_chain(folder / "server.crt", folder / "server.key")
        client_tls = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    server = await asyncio.start_server(speaking, "127.0.0.1", 0, ssl=server_tls)
    host, port = server.sockets[0].getsockname()[:2]
    ear = Ear()
    wire = await dial(Address(host, port, client_tls), ear)
    try:
        yield wire, ear
    finally:
        wire.close()
        server.close()
        await server.wait_closed()


@pytest.mark.parametrize("tls", [True, False])
def test_large_pieces_go_both_ways(tmp_path: Path, tls: bool) -> None:
    """Complete and in order, although neither side reads everything at once."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(len(LARGE) + 3))
        await writer.drain()
        writer.close()

    async def main() -> None:
        async with wired(tmp_path if tls else None, echo) as (wire, ear):
            wire.write(LARGE)
            was_flushed = wire.is_flushed
            wire.write(b"end")  # queued behind data that is not sent yet
            await ear.ended.wait()
            assert ear.heard == LARGE + b"end"
            assert (was_flushed, wire.is_flushed, wire.is_quiet) == (False, True, False)

    asyncio.run(main())


def test_a_closed_wire_delivers_nothing_more(tmp_path: Path) -> None:
    """Not even its end."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(LARGE)
        await reader.read()

    async def main() -> None:
        async with wired(tmp_path, talk) as (wire, ear):
            heard = ear.received

            def hang_up(data: Bytes) -> None:
                heard(data)
                wire.close()

            ear.received = hang_up  # type: ignore[method-assign]
            await ear.more.wait()
            await asyncio.sleep(0)  # noqa: TID251  gives way without waiting
            assert (ear.count, ear.ended.is_set()) == (1, False)

    asyncio.run(main())


def test_a_paused_wire_delivers_nothing_until_it_is_resumed(tmp_path: Path) -> None:
    """No data is lost."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(2)
        writer.write(b"hello")
        await writer.drain()
        await reader.readexactly(2)
        writer.close()

    async def main() -> None:
        async with wired(tmp_path, speak) as (wire, ear):
            wire.pause()
            wire.write(b"go")
            for _ in range(50):
                await asyncio.sleep(0.001)  # noqa: TID251  lets it arrive
            assert not ear.heard
            wire.resume()
            await ear.more.wait()
            assert ear.heard == b"hello"
            wire.write(b"go")
            await ear.ended.wait()
            for act in (wire.pause, wire.resume, wire.close, wire.reset):  # calls on a closed wire
                act()

    asyncio.run(main())


@pytest.mark.parametrize("tls", [True, False])
def test_a_broken_wire_is_lost(tmp_path: Path, tls: bool) -> None:
    """The reader and the writer are both told."""

    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        writer.transport.abort()

    async def main() -> None:
        async with wired(tmp_path if tls else None, break_off) as (wire, ear):
            wire.write(b"1" + LARGE)
            await ear.ended.wait()
            assert ear.error is not None
            assert not wire.is_quiet

    asyncio.run(main())


def test_an_end_without_close_notify_is_an_error(tmp_path: Path) -> None:
    """The data may have been truncated."""

    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"half of it")
        await writer.drain()
        await reader.readexactly(1)
        writer.get_extra_info("socket").shutdown(1)

    async def main() -> None:
        async with wired(tmp_path, break_off) as (wire, ear):
            await ear.more.wait()
            wire.write(b"1")
            await ear.ended.wait()
            assert isinstance(ear.error, ssl.SSLEOFError)

    asyncio.run(main())


def test_a_name_is_looked_up_and_the_next_address_tried() -> None:
    """Localhost often has two addresses, and the server listens on one of them."""

    async def close(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(close, "127.0.0.1", 0)
        ear = Ear()
        wire = await dial(Address("localhost", server.sockets[0].getsockname()[1]), ear)
        await ear.ended.wait()
        wire.close()
        server.close()
        await server.wait_closed()

    asyncio.run(main())
