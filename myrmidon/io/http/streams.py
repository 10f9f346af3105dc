"""Stream: an answer that is read while it arrives, such as a watch.

Up to 256 KiB are buffered for a busy reader.  Then the wire is paused: the kernel's receive buffer
fills up, and TCP makes the server wait.
"""

import asyncio
from collections.abc import AsyncIterator

from myrmidon.errors import TransportError
from myrmidon.io.http.wires import Wire

_WAITING_BYTES_MAX = 1 << 18


class Lines:
    """Splits a body that arrives in chunks into lines."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []

    def cut(self, piece: bytes) -> list[bytes]:
        """Return the lines that end in this chunk; keep the rest for the next one."""
        *ended, rest = piece.split(b"\n")
        if ended and self._begun:
            ended[0] = b"".join((*self._begun, ended[0]))
            self._begun = []
        if rest:
            self._begun.append(rest)
        return ended


class Stream:
    """An answer whose headers have arrived.  Its connection is used for nothing else."""

    def __init__(self, status: int, headers: tuple[tuple[str, str], ...], wire: Wire) -> None:
        self.status, self.headers = status, headers
        self._wire = wire
        self._waiting: list[bytes] = []
        self._bytes = 0
        self._more: asyncio.Future[None] | None = None
        self._ended = False
        self._error: TransportError | None = None

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield complete lines.  Bytes after the last newline are dropped as an incomplete line."""
        lines = Lines()
        while chunk := await self._next():
            for line in lines.cut(chunk):
                yield line

    async def read(self) -> bytes:
        """Return the rest of the body."""
        parts: list[bytes] = []
        while chunk := await self._next():
            parts.append(chunk)
        return b"".join(parts)

    async def keep(self, bytes_max: int) -> None:
        """Buffer the rest of the body, up to about ``bytes_max``, for a later ``read``.

        For the body of an error answer.  Also if this is cancelled or the connection breaks, the
        part that has arrived is kept.
        """
        parts: list[bytes] = []
        try:
            while sum(map(len, parts)) < bytes_max and (chunk := await self._next()):
                parts.append(chunk)
        except TransportError:
            pass
        finally:
            self._waiting, self._bytes = [part for part in parts if part], 0
            self._ended, self._error = True, None

    def hang_up(self) -> None:
        """Close the connection; the rest of the body is discarded."""
        self._wire.close()

    # ----------------------------------------------------------- called by the connection

    def feed(self, data: bytes) -> None:
        """Add bytes of the body."""
        self._waiting.append(data)
        self._bytes += len(data)
        if self._bytes > _WAITING_BYTES_MAX:
            self._wire.pause()
        self._tell()

    def end(self, error: TransportError | None = None) -> None:
        """Mark the body as ended, with an error if it was cut off.  Later calls do nothing."""
        if not self._ended:
            self._ended, self._error = True, error
            self._tell()

    # ------------------------------------------------------------------------------ inside

    def _tell(self) -> None:
        if self._more is not None and not self._more.done():
            self._more.set_result(None)

    async def _next(self) -> bytes:
        """Return the bytes that arrived since the last call; wait for some.  ``b""`` at the end."""
        while not self._waiting:
            if self._error is not None:
                raise self._error
            if self._ended:
                return b""
            self._more = asyncio.get_running_loop().create_future()
            await self._more
        chunk = self._waiting[0] if len(self._waiting) == 1 else b"".join(self._waiting)
        if self._bytes > _WAITING_BYTES_MAX and not self._ended:
            self._wire.resume()
        self._waiting, self._bytes = [], 0
        return chunk
