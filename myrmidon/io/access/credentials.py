"""Who we are: the Authorization header of each request, and how to get a new one.

The header is asked for with every request, so that is one comparison of numbers; reading a file
or running a program happens when a token grows old or the server refuses it.  Where that fails
the request was not sent, which is what ``UnreachableError`` says; it is tried again like any other.

No error, log line or ``repr`` shows a token, a password or a key, or a part of one.
"""

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

from myrmidon.api.clock import Clock
from myrmidon.errors import UnreachableError
from myrmidon.io.timers.clock import LoopClock

_EARLY = timedelta(seconds=30)  # renewed so long before its end
_PAUSE_SECONDS = 10.0  # between two renewals, where what is given is about to end


def bearer(token: str) -> str:
    """Return the Authorization header for a token.

    ValueError, which does not show the token, if it cannot be sent in a header.
    """
    if not is_one_word(token):
        raise ValueError("the token holds a space, a line end or a character beyond ASCII")
    return f"Bearer {token}"


def is_one_word(text: str) -> bool:
    """Whether a header can end with this text."""
    return text.isascii() and text.isprintable() and " " not in text


class Credentials(Protocol):
    """A source of Authorization headers.  Client certificates need none: TLS presents them."""

    @property
    def certificate(self) -> tuple[str, str] | None:
        """The files of a certificate and its key, None where they come from the endpoint."""
        ...

    async def authorization(self, now: float) -> str:
        """The header to send at this (monotonic) time, ``""`` for none."""
        ...

    async def renew(self, refused: str) -> bool:
        """The server refused this header with 401; whether there is another to try."""
        ...


class Fixed:
    """A header that never changes: a token, a user and password, or nothing at all."""

    certificate = None

    def __init__(self, header: str = "") -> None:
        self._header = header

    async def authorization(self, now: float) -> str:
        """The header."""
        del now
        return self._header

    async def renew(self, refused: str) -> bool:
        """There is no other."""
        del refused
        return False

    def __bool__(self) -> bool:
        """Whether there is a header."""
        return bool(self._header)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'…' if self._header else ''})"


class TokenFile:
    """A token in a file that is replaced from time to time, as the kubelet does within the hour."""

    certificate = None

    def __init__(self, path: str | Path, *, reread_seconds: float = 60.0) -> None:
        self._path = Path(path)
        self._reread_seconds = reread_seconds
        self._header = ""
        self._read_at = float("-inf")

    async def authorization(self, now: float) -> str:
        """Return the token in the file, as it was at most ``reread_seconds`` ago.

        While the file is gone, empty or broken, the last token is used: it may still be accepted,
        and when the server refuses it, ``renew`` says what is wrong with the file.
        """
        if now - self._read_at >= self._reread_seconds:
            try:
                self._header = self._read()
            except UnreachableError:
                if not self._header:
                    raise  # and the next request looks again
            self._read_at = now
        return self._header

    async def renew(self, refused: str) -> bool:
        """Read the file again."""
        self._header = self._read()
        return self._header != refused

    def _read(self) -> str:
        """Return the header for the token in the file."""
        try:
            content = self._path.read_bytes()
        except OSError as error:
            raise self._failed(f"cannot be read: {error.strerror}") from error
        if not content.strip():
            raise self._failed("is empty")
        token = content.decode("latin-1").strip()  # which never fails: its error would show it
        if not is_one_word(token):
            raise self._failed(
                "holds more than one token on one line: a second line, a space or a character "
                "beyond ASCII"
            )
        return bearer(token)

    def _failed(self, why: str) -> UnreachableError:
        return UnreachableError(f"the token file {self._path} {why}")

    def __repr__(self) -> str:
        return f"TokenFile({str(self._path)!r})"


class Renewable:
    """Credentials that end: renewed shortly before, and when they are refused, once for everybody."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock: Clock = clock or LoopClock()
        self._loaded_at = float("-inf")
        self._lock = asyncio.Lock()

    @property
    def header(self) -> str:
        """The header as it is."""
        raise NotImplementedError

    @property
    def expires_at(self) -> datetime | None:
        """When it ends, if that is known."""
        raise NotImplementedError

    async def load(self) -> None:
        """Get another; UnreachableError where that fails."""
        raise NotImplementedError

    async def authorization(self, now: float) -> str:
        """The header, renewed shortly before its end."""
        if self._is_ending(now):
            async with self._lock:
                if self._is_ending(now):
                    self._loaded_at = now
                    await self._load_in_time()
        return self.header

    async def renew(self, refused: str) -> bool:
        """Get another, unless somebody has done so since."""
        async with self._lock:
            if self.header == refused:
                await self.load()
        return self.header != refused

    def is_over(self, early: timedelta = timedelta()) -> bool:
        """Whether they have ended, or will in less than ``early``."""
        return self.expires_at is not None and self._clock.now() + early >= self.expires_at

    def _is_ending(self, now: float) -> bool:
        return now - self._loaded_at >= _PAUSE_SECONDS and self.is_over(_EARLY)

    async def _load_in_time(self) -> None:
        """Until the end, a failure does not matter."""
        try:
            await self.load()
        except UnreachableError:
            if self.is_over():
                raise


class Plugin:
    """The auth providers of kubernetes-asyncio's loader that are not spoken to here: Google's.

    The loader knows when a token expires; it is asked each ``check_seconds``, and once more when
    the server refuses what it gave.
    """

    certificate = None

    def __init__(self, loader: Any, header: str, *, check_seconds: float = 60.0) -> None:
        self._loader = loader
        self._check_seconds = check_seconds
        self._header = header
        self._checked_at: float | None = None
        self._lock = asyncio.Lock()  # a hundred requests at once must run one plugin

    async def authorization(self, now: float) -> str:
        """The token of the plugin, renewed shortly before it expires."""
        if self._checked_at is None:
            self._checked_at = now
        if now - self._checked_at >= self._check_seconds:
            async with self._lock:
                if now - self._checked_at >= self._check_seconds:
                    await self._load()
                    self._checked_at = now
        return self._header

    async def renew(self, refused: str) -> bool:
        """Run the plugin again, unless somebody has done so since."""
        async with self._lock:
            if self._header == refused:
                await self._load()
        return self._header != refused

    async def _load(self) -> None:
        target = SimpleNamespace(api_key={})
        try:
            await self._loader.load_and_set(target)
        except Exception as error:  # the loader lets through whatever a plugin does
            raise UnreachableError(f"no credentials could be obtained: {error}") from error
        header = str(target.api_key.get("BearerToken") or "").strip()
        if not header.isascii() or not header.isprintable():
            raise UnreachableError("no credentials could be obtained: the token cannot be sent")
        self._header = header

    def __repr__(self) -> str:
        return "Plugin()"
