"""Q6: a write that was given up is not delivered afterwards, over real sockets."""

import asyncio
import os
import signal
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from myrmidon.api.requests.transport import HttpRequest
from myrmidon.errors import AmbiguousError, LeadershipLostError, TransportError, UnreachableError
from myrmidon.io.access.addresses import Address
from myrmidon.io.access.kubeconfig import Endpoint, Tls
from myrmidon.io.http.fence import FencedTransport
from myrmidon.io.http.pool import Limits, Pool
from myrmidon.io.http.transport import HttpTransport
from tests.cluster.controlplane.pki import Authority
from tests.io.http.scripted_server import OK, Peer, pool_to, send
from tests.io.http.stalling_proxy import StallingProxy

GET = HttpRequest("GET", "/api")
BODY = b"x" * 300_000  # fits into the kernel's send buffer, but not into the proxy's receive buffer
PUT = HttpRequest("PUT", "/api", body=BODY)


class Counting:
    """A server that answers reads, and counts the writes that it has received completely."""

    def __init__(self) -> None:
        self.writes, self.ended = 0, asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if head.startswith(b"PUT"):
                    await reader.readexactly(len(BODY))
                    self.writes += 1
                writer.write(OK)
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            self.ended.set()
        finally:
            writer.transport.abort()


async def give_up(transport: HttpTransport, proxy: StallingProxy, how: str) -> None:
    """Send a write that gets stuck on its way, and give it up."""
    permits = iter([0.1])

    def permit() -> float:
        for seconds in permits:
            return seconds
        raise LeadershipLostError("the lease may be taken")

    fenced = FencedTransport(transport, permit)
    await fenced.send(GET)
    proxy.stall()
    if how == "the permission ends":
        with pytest.raises(AmbiguousError, match=r"no answer in 0\.1 s"):
            await fenced.send(PUT)
        with pytest.raises(LeadershipLostError):
            await fenced.send(PUT)
        return
    async with asyncio.TaskGroup() as group:
        task = group.create_task(transport.send(PUT))
        for _ in range(20):
            await asyncio.sleep(0)  # noqa: TID251  gives way until the bytes are in the kernel
        task.cancel()


@pytest.mark.parametrize("how", ["the permission ends", "the task is cancelled"])
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_a_write_that_was_given_up_is_not_delivered(tmp_path: Path, how: str, tls: bool) -> None:
    """It was in the kernel's send buffer, which an orderly close would still deliver."""

    async def main() -> None:
        server_tls, files = None, Tls()
        if tls:
            authority = Authority()
            authority.write(tmp_path / "ca.crt")
            authority.issue_server(tmp_path / "server", "server")
            server_tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            server_tls.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
            files = Tls(ca_file=str(tmp_path / "ca.crt"))
        counting = Counting()
        server = await asyncio.start_server(counting, "127.0.0.1", 0, ssl=server_tls)
        async with StallingProxy(server.sockets[0].getsockname()[1]).serving() as proxy:
            scheme = "https" if tls else "http"
            transport = HttpTransport(Endpoint(f"{scheme}://127.0.0.1:{proxy.port}", tls=files))
            await give_up(transport, proxy, how)
            proxy.flow()
            await proxy.ended.wait()
            await counting.ended.wait()
            await transport.close()
        server.close()
        await server.wait_closed()
        assert counting.writes == 0
        assert isinstance(proxy.error, ConnectionResetError)

    asyncio.run(main())


def test_a_connection_whose_write_got_its_response_is_closed_in_order() -> None:
    """Idle connections are closed, not reset, so nothing is lost."""
    ends: list[bytes | type[Exception]] = []
    over = asyncio.Event()

    async def speak(peer: Peer) -> None:
        await peer.request()
        peer.writer.write(OK)
        try:
            ends.append(await peer.reader.read())
        except ConnectionError as error:
            ends.append(type(error))
        over.set()

    async def main() -> None:
        async with pool_to(speak) as pool:
            await send(pool, "PUT")
            pool.close()
            await over.wait()

    asyncio.run(main())
    assert ends == [b""]


_WRITES = """
import asyncio, sys
from myrmidon.io.access.addresses import Address
from myrmidon.io.http.dialing import dial

class Deaf:
    def received(self, data): pass
    def lost(self, error): pass

async def main():
    wire = await dial(Address("127.0.0.1", int(sys.argv[1])), Deaf())
    wire.write(b"x" * 300_000)
    assert wire.is_flushed
    print("written", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def test_a_process_that_is_killed_delivers_nothing_more() -> None:
    """The kernel drops its send buffer with the process."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        command = [sys.executable, "-c", _WRITES, str(listener.getsockname()[1])]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"written\n"
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        peer, _ = listener.accept()
        with peer:
            assert _received(peer) < 300_000


def _received(peer: socket.socket) -> int:
    count = 0
    try:
        while data := peer.recv(1 << 16):
            count += len(data)
    except ConnectionResetError:
        return count
    return count


def test_a_server_that_closes_its_half_gets_nothing_more() -> None:
    """The write has failed for its sender, while the server, or a proxy, still reads."""

    async def main() -> int:
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            listener.setblocking(False)
            pool = Pool(Address(*listener.getsockname()), Limits(1, 5.0, 30.0))
            async with asyncio.TaskGroup() as group:
                write = group.create_task(failing(pool))
                peer, _ = await asyncio.get_running_loop().sock_accept(listener)
                await asyncio.get_running_loop().sock_recv(peer, 1)
                peer.shutdown(socket.SHUT_WR)
            assert write.result() == "the server closed the connection"
            for _ in range(3):
                await asyncio.sleep(0)  # noqa: TID251  lets the event loop close the socket
            with peer:
                peer.setblocking(True)
                return _received(peer)

    async def failing(pool: Pool) -> str:
        with pytest.raises(AmbiguousError) as caught:
            await pool.send("PUT", "/", (), BODY)
        return str(caught.value)

    assert asyncio.run(main()) < len(BODY)


class HeldUpLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock can be advanced, as if a callback had blocked it."""

    later = 0.0

    def time(self) -> float:
        """The time of this machine, plus an offset."""
        return super().time() + self.later


def test_a_write_is_not_sent_after_the_loop_was_blocked() -> None:
    """It waited for a free connection; when it gets one, its permission has expired."""
    asked: list[bytes] = []

    async def speak(peer: Peer) -> None:
        while True:
            asked.append((await peer.request()).split(b" ")[0])
            peer.writer.write(OK)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, HeldUpLoop)
        async with pool_to(speak, connections_max=1) as pool:
            transport = HttpTransport(Endpoint(f"http://{pool.address}"), connections_max=1)
            await transport.send(GET)

            async def hold_up() -> None:
                await transport.send(GET)
                loop.later += 20.0  # the waiting write was woken before this, and runs after it

            async with asyncio.TaskGroup() as group:
                group.create_task(hold_up())
                await asyncio.sleep(0)  # noqa: TID251  lets the read take the connection
                write = group.create_task(failing(FencedTransport(transport, lambda: 10.0)))
            assert isinstance(write.result(), TransportError)
            await transport.close()

    async def failing(transport: FencedTransport) -> Exception | None:
        try:
            await transport.send(HttpRequest("PUT", "/api"))
        except TransportError as error:
            return error
        return None

    with asyncio.Runner(loop_factory=HeldUpLoop) as runner:
        runner.run(main())
    assert asked == [b"GET", b"GET"]


def test_a_write_that_was_not_sent_in_time_is_known_as_not_sent() -> None:
    """The next attempt needs no live read."""

    async def speak(peer: Peer) -> None:
        await peer.reader.read()

    async def main() -> None:
        async with pool_to(speak) as pool:
            with pytest.raises(UnreachableError, match="the deadline passed"):
                await pool.send("PUT", "/", (), until=asyncio.get_running_loop().time())

    asyncio.run(main())
