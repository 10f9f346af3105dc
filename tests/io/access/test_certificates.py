"""Client certificates and CAs, and files that are replaced while the process runs."""

import asyncio
import contextlib
import gc
import json
import socket
import ssl
import threading
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
)

from myrmidon.api.requests.transport import HttpRequest
from myrmidon.errors import TransportError, UnreachableError, UsageError
from myrmidon.io.access.certificates import ssl_context
from myrmidon.io.access.kubeconfig import Endpoint, Tls
from myrmidon.io.http.transport import HttpTransport
from tests.cluster.controlplane.pki import Authority
from tests.io.fakes import FakeClock
from tests.io.http.tls import Guarded

GET = HttpRequest("GET", "/api")
POST = HttpRequest("POST", "/api", body=b"{}")


async def user_of(transport: HttpTransport, request: HttpRequest = POST) -> str:
    """Return the user name that the server sees, or the status of a refusal."""
    answer = await transport.send(request)
    return json.loads(answer.body)["user"] if answer.status == 200 else str(answer.status)


async def watcher_of(transport: HttpTransport) -> str:
    """Return the user name that the server sees on a stream."""
    async with transport.stream(GET) as stream:
        if stream.status != 200:
            return str(stream.status)
        (line,) = [line async for line in stream.lines()]
        return str(json.loads(line)["user"])


def play(
    server: Guarded,
    check: Callable[[HttpTransport], Awaitable[None]],
    clock: FakeClock | None = None,
) -> None:
    """Run a check on a transport to a server with TLS."""

    async def main() -> None:
        async with server.serving():
            transport = HttpTransport(Endpoint(server.url, tls=server.tls), clock=clock)
            try:
                await check(transport)
            finally:
                await transport.close()

    asyncio.run(main())


def test_the_server_sees_the_client_certificate(tmp_path: Path) -> None:
    """On requests and on streams, over connections that are reused."""
    server = Guarded(tmp_path)
    server.authority.issue_client(tmp_path / "me", "ann")

    async def check(transport: HttpTransport) -> None:
        assert [await user_of(transport) for _ in range(3)] == ["ann"] * 3
        assert await watcher_of(transport) == "ann"
        assert len(server.connections) == 2

    play(server, check)


def test_a_certificate_that_is_refused_is_read_again(tmp_path: Path) -> None:
    """After a 401 the request succeeds with the certificate that is on disk by then."""
    server = Guarded(tmp_path)
    server.authority.issue_client(tmp_path / "me", "ann")

    async def check(transport: HttpTransport) -> None:
        assert await user_of(transport) == "ann"
        server.refused.add("ann")
        server.authority.issue_client(tmp_path / "me", "bea")
        assert await user_of(transport) == "bea"
        server.refused.add("bea")
        server.authority.issue_client(tmp_path / "me", "cat")
        assert await watcher_of(transport) == "cat"

    play(server, check)


def test_a_certificate_that_stays_refused_is_sent_once(tmp_path: Path) -> None:
    """Without a new file there is no second attempt, and no new connection."""
    server = Guarded(tmp_path)
    server.authority.issue_client(tmp_path / "me", "ann")
    server.refused.add("ann")

    async def check(transport: HttpTransport) -> None:
        for _ in range(3):
            assert await user_of(transport) == "401"
        assert len(server.headers) == 3
        assert len(server.connections) == 1

    play(server, check)


def test_a_certificate_that_closes_the_connection_is_read_again(tmp_path: Path) -> None:
    """A proxy with its own TLS closes instead.

    The next attempt uses the file that is there then.
    """
    server = Guarded(tmp_path, strict=True)
    server.authority.issue_client(tmp_path / "me", "ann", expires=timedelta(hours=-1))

    async def check(transport: HttpTransport) -> None:
        for _ in range(2):
            with pytest.raises(TransportError):
                await user_of(transport)
        with pytest.raises(TransportError):
            await watcher_of(transport)
        server.authority.issue_client(tmp_path / "me", "ann")
        assert await user_of(transport) == "ann"
        assert await watcher_of(transport) == "ann"

    play(server, check)


def test_a_certificate_whose_key_is_not_replaced_yet_is_not_used(tmp_path: Path) -> None:
    """The old pair is used until both files match."""
    server = Guarded(tmp_path)
    server.authority.issue_client(tmp_path / "me", "ann")

    async def check(transport: HttpTransport) -> None:
        assert await user_of(transport) == "ann"
        server.authority.issue_client(tmp_path / "next", "bea")
        (tmp_path / "next.crt").rename(tmp_path / "me.crt")
        clock.seconds += 61
        assert await user_of(transport) == "ann"
        (tmp_path / "next.key").rename(tmp_path / "me.key")
        clock.seconds += 61
        assert await user_of(transport) == "bea"

    clock = FakeClock()
    play(server, check, clock)


def test_a_new_certificate_is_used_within_a_minute(tmp_path: Path) -> None:
    """Also if the old one is still valid, so that no request has to be refused first."""
    server = Guarded(tmp_path)
    server.authority.issue_client(tmp_path / "me", "ann")
    clock = FakeClock()

    async def check(transport: HttpTransport) -> None:
        assert await user_of(transport) == "ann"
        server.authority.issue_client(tmp_path / "me", "bea")
        clock.seconds += 59
        assert await user_of(transport) == "ann"
        clock.seconds += 1
        assert await user_of(transport) == "bea"

    play(server, check, clock)


def test_a_rotated_ca_of_the_server_is_read(tmp_path: Path) -> None:
    """The handshake fails until the CA file is replaced, and then succeeds."""
    server = Guarded(tmp_path)
    server.authority.issue_client(tmp_path / "me", "ann")

    async def main() -> None:
        async with server.serving():
            transport = HttpTransport(Endpoint(server.url, tls=server.tls))
            assert await user_of(transport) == "ann"
        other = Authority()
        other.issue_server(tmp_path / "server", "server")
        async with server.serving(int(server.url.rpartition(":")[2])):
            for request in (GET, POST):
                with pytest.raises(TransportError):
                    await user_of(transport, request)
            with pytest.raises(TransportError):
                await watcher_of(transport)
            other.write(tmp_path / "ca.crt")
            assert await user_of(transport) == "ann"
            await transport.close()

    asyncio.run(main())


@pytest.mark.parametrize("name", ["", "example.org"])
def test_a_server_with_another_ca_or_name_is_reported(tmp_path: Path, name: str) -> None:
    """The error has the words of TLS, and nothing was sent."""
    server = Guarded(tmp_path)
    if not name:
        Authority().write(tmp_path / "other.crt")
    tls = Tls(ca_file=str(tmp_path / ("ca.crt" if name else "other.crt")), server_name=name)

    async def main() -> None:
        async with server.serving():
            transport = HttpTransport(Endpoint(server.url, tls=tls))
            for ask in (user_of, watcher_of):
                with pytest.raises(UnreachableError, match="certificate verify failed"):
                    await ask(transport)
            await transport.close()

    asyncio.run(main())
    assert server.headers == []


def test_many_requests_that_are_refused_at_once_renew_once(tmp_path: Path) -> None:
    """An exec plugin that issues certificates is a program; one run is enough for all."""
    server = Guarded(tmp_path)
    server.authority.issue_client(tmp_path / "me", "ann")
    server.authority.issue_client(tmp_path / "next", "bea")
    server.refused.add("ann")

    class Issuing:
        """Credentials that are a certificate."""

        certificate: tuple[str, str] | None = None
        runs = 0

        async def authorization(self, now: float) -> str:
            """No header."""
            del now
            return ""

        async def renew(self, refused: str) -> bool:
            """Issue another certificate."""
            del refused
            self.runs += 1
            await asyncio.sleep(0)  # noqa: TID251  gives way, as a program would
            self.certificate = str(tmp_path / "next.crt"), str(tmp_path / "next.key")
            return False

    issuing = Issuing()

    async def main() -> None:
        async with server.serving():
            transport = HttpTransport(Endpoint(server.url, tls=server.tls, credentials=issuing))
            async with asyncio.TaskGroup() as group:
                users = [group.create_task(user_of(transport)) for _ in range(20)]
            assert {task.result() for task in users} == {"bea"}
            await transport.close()

    asyncio.run(main())
    assert issuing.runs <= 2  # a request that was answered late may renew once more


def test_a_tls_close_between_requests_is_noticed(tmp_path: Path) -> None:
    """A close_notify arrives; a write must not be sent on that connection."""
    server = Guarded(tmp_path)
    server.authority.issue_client(tmp_path / "me", "ann")

    async def check(transport: HttpTransport) -> None:
        for number in range(1, 6):
            assert await user_of(transport) == "ann"
            assert len(server.connections) == number
            server.connections[-1].close()
            await server.connections[-1].wait_closed()
            await asyncio.sleep(0)  # noqa: TID251  the loop has heard of it, we have not yet

    play(server, check)


class Mute:
    """A server in a thread that answers and never sends close_notify."""

    def __init__(self, folder: Path) -> None:
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(folder / "server.crt", folder / "server.key")
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._accept)]
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                thread = threading.Thread(target=self._serve, args=(client,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            link = self._context.wrap_socket(client, server_side=True)
            with link:
                if link.recv(1 << 16):
                    link.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                self._over.wait()


def left_open(folder: Path, act: Callable[[HttpTransport], Awaitable[None]]) -> list[str]:
    """Return what the event loop still holds after a transport was used and closed."""
    server = Guarded(folder)

    async def main(url: str) -> None:
        transport = HttpTransport(Endpoint(url, tls=replace(server.tls, cert_file="")))
        try:
            await act(transport)
        finally:
            await transport.close()

    with Mute(folder) as mute, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        asyncio.run(main(mute.url))
        gc.collect()
    return [str(one.message) for one in said]


def test_nothing_is_left_open(tmp_path: Path) -> None:
    """Closing does not wait for the server's close_notify, which may never come."""

    async def act(transport: HttpTransport) -> None:
        await transport.send(GET)
        async with transport.stream(GET) as stream:
            await stream.read()

    assert left_open(tmp_path, act) == []


@pytest.mark.parametrize("how", ["send", "stream"])
def test_a_cancelled_connect_leaves_nothing_open(tmp_path: Path, how: str) -> None:
    """It is cancelled before, during and just after the handshake."""

    async def ask(transport: HttpTransport) -> None:
        if how == "send":
            await transport.send(POST)
        else:
            async with transport.stream(GET):
                pass

    async def act(transport: HttpTransport) -> None:
        for turns in range(0, 300, 3):
            async with asyncio.TaskGroup() as group:
                task = group.create_task(ask(transport))
                for _ in range(turns):
                    await asyncio.sleep(0)  # noqa: TID251  gives way without waiting
                task.cancel()
            transport._retire()

    assert left_open(tmp_path, act) == []


def strict_default(
    purpose: ssl.Purpose = ssl.Purpose.SERVER_AUTH, **options: Any
) -> ssl.SSLContext:
    """Return the default client context of Python 3.13 and later, on any version."""
    context = _default(purpose, **options)
    if purpose is ssl.Purpose.SERVER_AUTH:
        context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


_default = ssl.create_default_context


@pytest.mark.parametrize("what", ["no key usage", "an intermediate CA"])
def test_a_ca_that_kubectl_accepts_is_accepted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str
) -> None:
    """Python 3.13 requires extensions that the CA of many clusters lacks; Go does not."""
    root = Authority("root")
    authority = (
        Authority(has_key_usage=False) if what == "no key usage" else Authority(signed_by=root)
    )
    server = Guarded(tmp_path, authority=authority)
    server.authority.issue_client(tmp_path / "me", "ann")
    monkeypatch.setattr(ssl, "create_default_context", strict_default)

    async def check(transport: HttpTransport) -> None:
        assert await user_of(transport) == "ann"

    play(server, check)


@pytest.mark.parametrize("wrong", ["another CA", "another name", "expired"])
def test_a_server_is_still_verified(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wrong: str
) -> None:
    """Signature, name and validity."""
    server = Guarded(tmp_path, authority=Authority(has_key_usage=False))
    server.authority.issue_client(tmp_path / "me", "ann")
    tls = server.tls
    if wrong == "another CA":
        Authority("myrmidon-test-ca").write(tmp_path / "other.crt")
        tls = replace(tls, ca_file=str(tmp_path / "other.crt"))
    elif wrong == "another name":
        tls = replace(tls, server_name="example.org")
    else:
        server.authority.issue_server(tmp_path / "server", "server", expires=-timedelta(hours=1))
    monkeypatch.setattr(ssl, "create_default_context", strict_default)

    async def main() -> None:
        async with server.serving():
            transport = HttpTransport(Endpoint(server.url, tls=tls))
            with pytest.raises(UnreachableError, match="certificate"):
                await transport.send(HttpRequest("GET", "/"))

    asyncio.run(main())


def test_a_key_with_a_password_is_refused_and_not_asked_for(tmp_path: Path) -> None:
    """OpenSSL would prompt for it on the terminal."""
    key = ec.generate_private_key(ec.SECP256R1())
    encryption = BestAvailableEncryption(b"secret")
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    Authority().issue_client(tmp_path / "me", "ann")
    (tmp_path / "me.key").write_bytes(pem)
    with pytest.raises(UsageError, match="cannot be read"):
        ssl_context(Tls(cert_file=str(tmp_path / "me.crt"), key_file=str(tmp_path / "me.key")))
