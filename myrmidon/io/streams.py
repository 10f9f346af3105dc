"""An answer that is handed out while it comes: a watch."""

import asyncio
from collections.abc import AsyncIterator

from myrmidon.errors import TransportError
from myrmidon.io.sockets import Wire

_WAITING_BYTES_MAX = 1 << 18  # for a reader who is busy; then the server has to wait, too


class Lines:
    """Lines of a text that comes in pieces."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []

    def cut(self, piece: bytes) -> list[bytes]:
        """The lines that end in this piece."""
        *ended, rest = piece.split(b"\n")
        if ended and self._begun:
            ended[0] = b"".join((*self._begun, ended[0]))
            self._begun = []
        if rest:
            self._begun.append(rest)
        return ended


class Stream:
    """An answer that has begun.  It has its connection to itself, and takes it along when it ends."""

    def __init__(self, status: int, headers: tuple[tuple[str, str], ...], wire: Wire) -> None:
        self.status, self.headers = status, headers
        self._wire = wire
        self._waiting: list[bytes] = []
        self._bytes = 0
        self._more: asyncio.Future[None] | None = None
        self._ended = False
        self._error: TransportError | None = None

    async def lines(self) -> AsyncIterator[bytes]:
        """Whole lines.  What stands after the last line end was cut off, and is no line."""
        lines = Lines()
        while chunk := await self._next():
            for line in lines.cut(chunk):
                yield line

    async def read(self) -> bytes:
        """All that is left."""
        parts: list[bytes] = []
        while chunk := await self._next():
            parts.append(chunk)
        return b"".join(parts)

    def hang_up(self) -> None:
        """Nobody reads any further."""
        self._wire.abort()

    # ----------------------------------------------------------- called by the connection

    def feed(self, data: bytes) -> None:
        """Some more of it."""
        self._waiting.append(data)
        self._bytes += len(data)
        if self._bytes > _WAITING_BYTES_MAX:
            self._wire.pause()
        self._tell()

    def end(self, error: TransportError | None = None) -> None:
        """That was all, or all that will come."""
        if not self._ended:
            self._ended, self._error = True, error
            self._tell()

    # ------------------------------------------------------------------------------ inside

    def _tell(self) -> None:
        if self._more is not None and not self._more.done():
            self._more.set_result(None)

    async def _next(self) -> bytes:
        """What has come since the last time; nothing at the end."""
        while not self._waiting:
            if self._error is not None:
                raise self._error
            if self._ended:
                return b""
            self._more = asyncio.get_running_loop().create_future()
            await self._more
        chunk = self._waiting[0] if len(self._waiting) == 1 else b"".join(self._waiting)
        if self._bytes > _WAITING_BYTES_MAX:
            self._wire.resume()
        self._waiting, self._bytes = [], 0
        return chunk
