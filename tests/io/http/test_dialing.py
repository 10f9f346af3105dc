"""Opening a connection: several addresses, TLS, and invalid names."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from myrmidon.api.requests.transport import HttpRequest
from myrmidon.errors import UnreachableError
from myrmidon.io.access.addresses import Address
from myrmidon.io.access.kubeconfig import Endpoint
from myrmidon.io.http import dialing
from myrmidon.io.http.pool import Limits, Pool
from myrmidon.io.http.transport import HttpTransport
from tests.io.http.scripted_server import OK, Peer, pool_to, send
from tests.io.http.tls import Guarded

GET = HttpRequest("GET", "/api")
Loop = Callable[[], asyncio.AbstractEventLoop]


@pytest.fixture(params=["asyncio", "uvloop"])
def loop_factory(request: pytest.FixtureRequest) -> Loop:
    """Each event loop that is installed."""
    if request.param == "asyncio":
        return asyncio.new_event_loop
    factory: Loop = pytest.importorskip("uvloop").new_event_loop
    return factory


@pytest.fixture
def silent() -> Iterator[int]:
    """A port that answers no connection: its queue is full."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port: int = listener.getsockname()[1]
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", port))
        yield port


def infos(*ports: int) -> list[Any]:
    """Return the DNS answer for a name with several addresses."""
    kind = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
    return [(*kind, ("127.0.0.1", port)) for port in ports]


def name(monkeypatch: pytest.MonkeyPatch, *ports: int) -> None:
    """Let every name have these addresses."""

    async def known(host: str, port: int) -> list[Any]:
        del host, port
        return infos(*ports)

    monkeypatch.setattr(dialing, "_addresses", known)


@pytest.mark.parametrize("first", ["silent", "refusing"])
def test_the_first_address_of_a_name_may_be_out_of_reach(
    loop_factory: Loop, monkeypatch: pytest.MonkeyPatch, silent: int, first: str
) -> None:
    """The second is tried a quarter of a second later, or at once."""

    async def speak(peer: Peer) -> None:
        await peer.request()
        peer.writer.write(OK)
        await peer.reader.read()

    async def main() -> None:
        async with pool_to(speak) as plain:
            name(monkeypatch, silent if first == "silent" else 1, plain.address.port)
            pool = Pool(Address("two.example", 80), Limits(1, 5.0, 30.0))
            assert (await send(pool)).body == b"ok"
            pool.close()

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(main())


def test_addresses_that_all_fail_are_one_failure(
    loop_factory: Loop, monkeypatch: pytest.MonkeyPatch, silent: int
) -> None:
    """The error has one reason, or is the time limit."""

    async def main() -> None:
        pool = Pool(Address("two.example", 80), Limits(1, 0.6, 30.0))
        name(monkeypatch, 1, 2)
        with pytest.raises(UnreachableError, match=r"two.example:80: connection refused"):
            await send(pool)
        name(monkeypatch, silent, 1)
        with pytest.raises(UnreachableError, match=r"two.example:80: no connection within 0\.6 s"):
            await send(pool)

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(main())


def test_tls_on_every_event_loop(loop_factory: Loop, tmp_path: Path) -> None:
    """Requests, large answers and watches, with certificates on both sides."""
    server = Guarded(tmp_path)
    server.authority.issue_client(tmp_path / "me", "ann")

    async def main() -> None:
        async with server.serving():
            transport = HttpTransport(Endpoint(server.url, tls=server.tls))
            for _ in range(3):
                answer = await transport.send(HttpRequest("PUT", "/", body=b"x" * 1_000_000))
                assert answer.body == b'{"user": "ann"}\n'
            async with transport.stream(GET) as stream:
                assert [line async for line in stream.lines()] == [b'{"user": "ann"}']
            assert len(server.connections) == 2
            await transport.close()

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(main())


@pytest.mark.parametrize("host", ["a..b", "x" * 64 + ".example", "no such host", "ex\x00ample"])
def test_an_invalid_name_is_unreachable(host: str) -> None:
    """It is treated like an unknown name."""

    async def main() -> None:
        pool = Pool(Address(host, 80), Limits(1, 5.0, 30.0))
        with pytest.raises(UnreachableError):
            await send(pool)

    asyncio.run(main())


def test_a_cancelled_connect_leaves_no_socket_behind(silent: int) -> None:
    """Neither while it connects nor during the handshake (a ResourceWarning fails the test)."""
    quiet = asyncio.Event()

    async def speak(peer: Peer) -> None:
        await peer.reader.readexactly(1)
        quiet.set()
        await peer.reader.read()

    async def main() -> None:
        async with pool_to(speak) as plain:
            tls = ssl.create_default_context()
            for address in (plain.address._replace(tls=tls), Address("127.0.0.1", silent)):
                pool = Pool(address, Limits(1, 5.0, 30.0))
                async with asyncio.TaskGroup() as group:
                    task = group.create_task(send(pool))
                    if address.port == silent:
                        await asyncio.sleep(0.01)  # noqa: TID251  lets it begin to connect
                    else:
                        await quiet.wait()
                    task.cancel()
                assert task.cancelled()

    asyncio.run(main())
