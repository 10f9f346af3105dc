"""Wires: one TCP connection that carries bytes both ways; ``SocketWire`` is the lowest layer.

``SocketWire`` is an asyncio protocol, so it works on every event loop: asyncio's own loops, the one
for Windows, and uvloop.  ``tls.TlsWire`` is put on top of it for TLS.  The receiver of the topmost
wire is the HTTP connection.

A wire is ended in one of two ways:

``close()``
    Bytes in the kernel's send buffer are still delivered.  For idle connections and for watches.
``reset()``
    Sends a TCP reset; the kernel drops the bytes that it has not delivered.  For a request that
    failed or was cancelled: over a slow network, a write in the send buffer would otherwise be
    delivered long after its sender gave it up (see ``fence``).

Every socket is set to reset on close from the beginning (``SO_LINGER`` with 0 seconds), and
``close()`` turns that off.  So a process that is killed during a write resets its connections, too.
"""

import asyncio
import contextlib
import socket
import struct
import sys
from typing import Protocol, TypeAlias, cast

Bytes: TypeAlias = bytes | memoryview

_READ_BYTES = 1 << 16
_LINGER = "hh" if sys.platform == "win32" else "ii"
_RESET_ON_CLOSE = struct.pack(_LINGER, 1, 0)
_DELIVER_ON_CLOSE = struct.pack(_LINGER, 0, 0)


class Receiver(Protocol):
    """The object that a wire calls when bytes arrive or the connection ends.

    Its methods must not raise.
    """

    def received(self, data: Bytes) -> None:
        """Handle bytes that have arrived.  The buffer is reused after this returns."""
        ...

    def lost(self, error: Exception | None) -> None:
        """Handle the end: the other side closed (None), or the connection broke.

        Called at most once.  The receiver then has to close or reset the wire.
        """
        ...


class Wire(Protocol):
    """One TCP connection, with TLS or without.

    ``receiver`` may be replaced, as happens when TLS is put on top of the wire.
    """

    receiver: Receiver

    @property
    def is_flushed(self) -> bool:
        """Whether the kernel has taken all bytes that were written."""
        ...

    @property
    def is_quiet(self) -> bool:
        """Whether the kernel holds no unread bytes and no end of the connection."""
        ...

    def write(self, data: bytes) -> None:
        """Send bytes, after those that were written before."""
        ...

    def pause(self) -> None:
        """Stop reading: the kernel's buffer fills up, and TCP makes the other side wait."""
        ...

    def resume(self) -> None:
        """Resume reading."""
        ...

    def close(self) -> None:
        """Close the connection; sent bytes are delivered.  The receiver is not called any more."""
        ...

    def reset(self) -> None:
        """Reset the connection; unsent bytes are dropped.  The receiver is not called any more."""
        ...


class SocketWire(asyncio.BufferedProtocol):
    """A wire on a connected TCP socket.

    It reads into its own buffer.  Otherwise asyncio allocates 256 KiB for each read and shrinks it
    afterwards, which costs more than processing a small answer.
    """

    _transport: asyncio.Transport

    def __init__(self, sock: socket.socket, receiver: Receiver) -> None:
        self._sock, self.receiver = sock, receiver
        self._is_open, self._is_lost = True, False
        self._buffer = memoryview(bytearray(_READ_BYTES))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)

    @property
    def is_flushed(self) -> bool:
        """Whether the kernel has taken all bytes that were written."""
        return self._transport.get_write_buffer_size() == 0

    @property
    def is_quiet(self) -> bool:
        """Whether the kernel holds no unread bytes and no end of the connection."""
        if not self._is_open or self._is_lost:
            return False
        try:
            self._sock.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return True
        except OSError:
            pass
        return False

    def write(self, data: bytes) -> None:
        """Send bytes, after those that were written before."""
        if self._is_open:
            self._transport.write(data)

    def pause(self) -> None:
        """Stop reading."""
        if self._is_open:
            self._transport.pause_reading()

    def resume(self) -> None:
        """Resume reading."""
        if self._is_open:
            self._transport.resume_reading()

    def close(self) -> None:
        """Close the connection; bytes in the kernel's send buffer are still delivered."""
        if self._is_open:
            with contextlib.suppress(OSError):  # the other side may already have reset it
                self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _DELIVER_ON_CLOSE)
        self.reset()

    def reset(self) -> None:
        """Reset the connection; undelivered bytes are dropped."""
        if self._is_open:
            self._is_open = False
            self._transport.abort()

    # ------------------------------------------------------------- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport.  uvloop's is not a subclass of ``asyncio.Transport``."""
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer to read into."""
        del sizehint
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Pass the bytes to the receiver."""
        if self._is_open:
            self.receiver.received(self._buffer[:nbytes])

    def eof_received(self) -> bool:
        """Report that the other side closed; return whether the receiver left the wire open."""
        self._lose(None)
        return self._is_open

    def connection_lost(self, exc: Exception | None) -> None:
        """Report why the connection broke, unless this side ended it."""
        self._lose(exc)
        self._is_open = False

    def _lose(self, error: Exception | None) -> None:
        if self._is_open and not self._is_lost:
            self._is_lost = True
            self.receiver.lost(error)
