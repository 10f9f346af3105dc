"""A connected socket, plain or TLS: bytes go out, bytes come in, and it may be lost.

The transports of asyncio move TLS through two buffers in Python, record by record.  Here OpenSSL reads
and writes the socket itself; what that saves: ``benchmarks/transport.py``.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, Self
from urllib.parse import urlsplit

_RECORD_BYTES = 1 << 14  # what TLS hands out at a time; a full one is rarely the last
_READ_BYTES = 1 << 16
_PIECES_MAX = 16  # of one connection in one turn; then the others are looked at
_AGAIN = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Address(NamedTuple):
    """Where to connect to."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    server_name: str = ""

    @classmethod
    def of(cls, origin: str, tls: ssl.SSLContext | None, server_name: str = "") -> Self:
        """The address of ``https://host:port``."""
        place = urlsplit(origin)
        port = place.port or (443 if place.scheme == "https" else 80)
        return cls(place.hostname or "", port, tls, server_name)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Receiver(Protocol):
    """Whoever is told what comes in.  Neither call may raise."""

    def received(self, data: bytes) -> None:
        """Some bytes have come."""
        ...

    def lost(self, error: Exception | None) -> None:
        """Nothing will come any more: the other side closed, or this went wrong."""
        ...


class Wire:
    """One connected socket.  What cannot be sent at once is sent as soon as the other side reads."""

    def __init__(self, sock: socket.socket, receiver: Receiver) -> None:
        self._sock, self._fd, self._receiver = sock, sock.fileno(), receiver
        self._loop = asyncio.get_running_loop()
        self._unsent = memoryview(b"")
        self.is_open = True
        self.resume()

    @property
    def is_flushed(self) -> bool:
        """Whether everything has been handed to the system."""
        return not self._unsent

    def write(self, data: bytes) -> None:
        """Send bytes, after those that still wait."""
        if self._unsent:
            self._unsent = memoryview(bytes(self._unsent) + data)
            return
        self._unsent = memoryview(data)
        self._flush()
        if self._unsent and self.is_open:
            self._loop.add_writer(self._fd, self._on_writable)

    def pause(self) -> None:
        """Read nothing for a while; the system and then the other side will hold it back."""
        if self.is_open:
            self._loop.remove_reader(self._fd)

    def resume(self) -> None:
        """Read again."""
        if self.is_open:
            self._loop.add_reader(self._fd, self._on_readable)

    def abort(self) -> None:
        """Drop the connection, without a TLS goodbye: nobody waits for the answer to it.

        Nothing is lost by it: what was asked for is answered, or nobody wants the answer.
        """
        if self.is_open:
            self.is_open = False
            self._loop.remove_reader(self._fd)
            self._loop.remove_writer(self._fd)
            self._sock.close()

    def _on_readable(self) -> None:
        for _ in range(_PIECES_MAX):
            try:
                data = self._sock.recv(_READ_BYTES)
            except _AGAIN:
                return
            except OSError as error:
                self._lose(error)
                return
            if not data:
                self._lose(None)
                return
            self._receiver.received(data)
            if len(data) < _RECORD_BYTES or not self.is_open:
                return

    def _on_writable(self) -> None:
        self._flush()
        if not self._unsent and self.is_open:
            self._loop.remove_writer(self._fd)

    def _flush(self) -> None:
        for _ in range(_PIECES_MAX):
            try:
                self._unsent = self._unsent[self._sock.send(self._unsent) :]
            except _AGAIN:
                return
            except OSError as error:
                self._lose(error)
                return
            if not self._unsent:
                return

    def _lose(self, error: Exception | None) -> None:
        self.abort()
        self._receiver.lost(error)


async def connect(address: Address, receiver: Receiver) -> Wire:
    """TCP, then TLS; whoever gives up in the middle leaves no socket behind."""
    sock = await _connected(address.host, address.port)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if address.tls is not None:
            sock = address.tls.wrap_socket(
                sock,
                server_hostname=address.server_name or address.host,
                do_handshake_on_connect=False,
                suppress_ragged_eofs=False,
            )
            await _shake_hands(sock)
        return Wire(sock, receiver)
    except BaseException:
        sock.close()
        raise


async def _connected(host: str, port: int) -> socket.socket:
    """The first of the host's addresses that answers; where none does, why the last did not."""
    loop = asyncio.get_running_loop()
    failure: OSError = OSError("the name has no address")
    for family, kind, protocol, _, place in await _addresses(host, port):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setblocking(False)
            await loop.sock_connect(sock, place)
        except OSError as error:
            sock.close()
            failure = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise failure


async def _addresses(host: str, port: int) -> list[Any]:
    try:  # a number needs no thread that asks for it
        flags = socket.AI_NUMERICHOST
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    except socket.gaierror:
        loop = asyncio.get_running_loop()
        return await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)


async def _shake_hands(sock: ssl.SSLSocket) -> None:
    loop = asyncio.get_running_loop()
    while True:
        try:
            sock.do_handshake()
        except ssl.SSLWantReadError:
            await _ready(sock, loop.add_reader, loop.remove_reader)
        except ssl.SSLWantWriteError:
            await _ready(sock, loop.add_writer, loop.remove_writer)
        else:
            return


async def _ready(
    sock: socket.socket, add: Callable[..., Any], remove: Callable[[int], bool]
) -> None:
    """Wait until the system says that a socket can be read, or written."""
    ready = asyncio.get_running_loop().create_future()
    add(sock.fileno(), _be_done, ready)
    try:
        await ready
    finally:
        remove(sock.fileno())


def _be_done(ready: "asyncio.Future[None]") -> None:
    if not ready.done():
        ready.set_result(None)
