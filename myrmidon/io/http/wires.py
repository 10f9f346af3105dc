"""A wire carries bytes both ways over one TCP connection; ``SocketWire`` is the lowest one.

``SocketWire`` is the protocol of an asyncio transport, so any event loop will do: asyncio's own
ones, Windows' and uvloop.  ``tls.TlsWire`` stands on top of it, and the receiver on top of both
is the HTTP connection.

A connection ends in one of two ways:

``close()``
    in good order: what is already in the kernel's send buffer is still delivered.  For
    connections that are idle and for watches.
``reset()``
    with a TCP reset: the kernel forgets what it has not delivered yet.  For a request that is
    given up.  Otherwise a write that waits in the send buffer, because the network or the other
    side is slow, would be delivered long after its sender gave it up (see ``fencing``).

A socket is set to reset from the beginning (``SO_LINGER`` with 0 seconds) and ``close()`` takes
that back.  So a process that is killed in the middle of a write resets its connections as well.
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
    """Is told what a wire receives.  Neither call may raise."""

    def received(self, data: Bytes) -> None:
        """Some bytes have arrived; they stay as they are until this returns."""
        ...

    def lost(self, error: Exception | None) -> None:
        """Nothing more will arrive: the other side closed (None), or the connection broke.

        Called once at most.  It is the receiver who then closes the wire, or resets it.
        """
        ...


class Wire(Protocol):
    """One connection as its user sees it, with TLS or without.

    The receiver may be replaced while layers are put on top of each other.
    """

    receiver: Receiver

    @property
    def is_flushed(self) -> bool:
        """Whether all that was written has been handed to the kernel."""
        ...

    @property
    def is_quiet(self) -> bool:
        """Whether nothing has arrived that was not read yet, neither bytes nor the end."""
        ...

    def write(self, data: bytes) -> None:
        """Send bytes, after those that still wait."""
        ...

    def pause(self) -> None:
        """Stop reading; the kernel's buffer fills up, and then the other side has to wait."""
        ...

    def resume(self) -> None:
        """Read again."""
        ...

    def close(self) -> None:
        """Close in good order.  The receiver hears nothing more."""
        ...

    def reset(self) -> None:
        """Reset the connection; undelivered bytes are dropped.  The receiver hears nothing more."""
        ...


class SocketWire(asyncio.BufferedProtocol):
    """A wire on a connected TCP socket.

    It reads into a buffer of its own.  Otherwise asyncio asks the system for 256 KiB with each read
    and gives back what was not needed, which costs more than all that is done with a small answer.
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
        """Whether all that was written has been handed to the kernel."""
        return self._transport.get_write_buffer_size() == 0

    @property
    def is_quiet(self) -> bool:
        """Whether nothing has arrived that was not read yet; asks the kernel."""
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
        """Send bytes, after those that still wait."""
        if self._is_open:
            self._transport.write(data)

    def pause(self) -> None:
        """Stop reading."""
        if self._is_open:
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read again."""
        if self._is_open:
            self._transport.resume_reading()

    def close(self) -> None:
        """Close in good order."""
        if self._is_open:
            with contextlib.suppress(OSError):  # the other side may have reset it meanwhile
                self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _DELIVER_ON_CLOSE)
        self.reset()

    def reset(self) -> None:
        """Reset the connection."""
        if self._is_open:
            self._is_open = False
            self._transport.abort()

    # ------------------------------------------------------------- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport.  That of uvloop is not an ``asyncio.Transport`` by class."""
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return where to read to."""
        del sizehint
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Pass on what was read."""
        if self._is_open:
            self.receiver.received(self._buffer[:nbytes])

    def eof_received(self) -> bool:
        """Report that the other side closed; return whether the receiver left the wire open."""
        self._lose(None)
        return self._is_open

    def connection_lost(self, exc: Exception | None) -> None:
        """Report why the connection broke, unless it was ended by this side."""
        self._lose(exc)
        self._is_open = False

    def _lose(self, error: Exception | None) -> None:
        if self._is_open and not self._is_lost:
            self._is_lost = True
            self.receiver.lost(error)
