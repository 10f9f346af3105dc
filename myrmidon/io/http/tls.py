"""TlsWire: TLS on top of another wire.

OpenSSL works on two memory buffers (``ssl.MemoryBIO``) between the lower wire, which carries the
encrypted bytes, and the receiver of the decrypted bytes.  ``asyncio.sslproto`` works the same way,
but does twice the work in Python for each message and keeps 256 KiB for each connection.  It also
does not distinguish a TLS connection that was closed properly (close_notify) from one that was cut;
here the latter is an error.
"""

import asyncio
import ssl

from myrmidon.io.http.wires import Bytes, Receiver, Wire

_READ_BYTES = 1 << 16  # more than one TLS record


class TlsWire:
    """A wire that encrypts, on top of a lower one.  Call ``shake_hands`` before ``write``."""

    def __init__(
        self, lower: Wire, context: ssl.SSLContext, server_name: str, receiver: Receiver
    ) -> None:
        self._lower, self.receiver = lower, receiver
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._session = context.wrap_bio(
            self._incoming, self._outgoing, server_hostname=server_name
        )
        self._shaken: asyncio.Future[None] | None = None
        self._is_live = True  # neither closed nor lost

    async def shake_hands(self) -> None:
        """Do the handshake; raise ``ssl.SSLError`` or ``OSError`` if it fails."""
        shaken = self._shaken = asyncio.get_running_loop().create_future()
        self._shake()
        await shaken

    @property
    def is_flushed(self) -> bool:
        """Whether the kernel has taken all bytes that were written."""
        return self._lower.is_flushed

    @property
    def is_quiet(self) -> bool:
        """Whether the kernel holds no unread bytes and no end of the connection."""
        return self._is_live and self._lower.is_quiet

    def write(self, data: bytes) -> None:
        """Encrypt and send."""
        if not self._is_live:
            return
        try:
            written = self._session.write(data)
            while written < len(data):
                written += self._session.write(memoryview(data)[written:])
        except ssl.SSLError as error:
            self._lose(error)
            return
        self._lower.write(self._outgoing.read())

    def pause(self) -> None:
        """Stop reading."""
        self._lower.pause()

    def resume(self) -> None:
        """Resume reading."""
        self._lower.resume()

    def close(self) -> None:
        """Close the wire without sending close_notify: HTTP itself says where a request ends."""
        self._is_live = False
        self._lower.close()

    def reset(self) -> None:
        """Reset the connection; undelivered bytes are dropped."""
        self._is_live = False
        self._lower.reset()

    # ------------------------------------------------------------ called by the lower wire

    def received(self, data: Bytes) -> None:
        """Decrypt bytes and pass them on."""
        self._incoming.write(data)
        if self._shaken is None:
            self._read()
        else:
            self._shake()

    def lost(self, error: Exception | None) -> None:
        """Report the end as an error: without close_notify, data may be missing."""
        error = error or ssl.SSLEOFError(ssl.SSL_ERROR_EOF, "closed without a TLS close_notify")
        if self._shaken is None:
            self._lose(error)
        elif not self._shaken.done():
            self._shaken.set_exception(error)

    # ------------------------------------------------------------------------------ inside

    def _shake(self) -> None:
        assert self._shaken is not None
        if self._shaken.done():  # failed or cancelled
            return
        try:
            self._session.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return
        except ssl.SSLError as error:
            self._flush()  # the alert that tells the server why
            self._shaken.set_exception(error)
            return
        self._shaken.set_result(None)
        self._shaken = None
        self._flush()
        self._read()  # data that came together with the last message of the handshake

    def _read(self) -> None:
        try:
            while self._is_live and self._incoming.pending:
                data = self._session.read(_READ_BYTES)
                if not data:
                    self._lose(None)
                    break
                self.receiver.received(data)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            self._flush()  # the alert that tells the server why
            self._lose(error)
            return
        if self._outgoing.pending:
            self._flush()

    def _flush(self) -> None:
        """Send the messages that OpenSSL itself made: handshakes, key updates, alerts."""
        if self._outgoing.pending:
            self._lower.write(self._outgoing.read())

    def _lose(self, error: Exception | None) -> None:
        if self._is_live:
            self._is_live = False
            self.receiver.lost(error)
