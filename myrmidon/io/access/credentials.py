"""Credentials: the Authorization header of each request, and how to renew it.

Every request asks for the header, so the usual case is one comparison of times.  A file is read, or
a program run, only when a token is about to expire or the server has refused it.  If that fails,
the request was not sent; the error is an ``UnreachableError``, and the request is retried like any
other that could not be sent.

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

_EARLY = timedelta(seconds=30)  # credentials are renewed this long before they expire
_PAUSE_SECONDS = 10.0  # between two renewals, if the new credentials expire at once as well


def bearer(token: str) -> str:
    """Return the Authorization header for a token.

    Raises ValueError, without showing the token, if it cannot be sent in a header.
    """
    if not is_one_word(token):
        raise ValueError("the token has a space, a line break or a character outside ASCII")
    return f"Bearer {token}"


def is_one_word(text: str) -> bool:
    """Whether a text is printable ASCII without spaces, as a token has to be."""
    return text.isascii() and text.isprintable() and " " not in text


class Credentials(Protocol):
    """A source of Authorization headers, or of a client certificate for TLS."""

    @property
    def certificate(self) -> tuple[str, str] | None:
        """The files of a client certificate and its key; None to use those of the endpoint."""
        ...

    async def authorization(self, now: float) -> str:
        """Return the header to send, ``""`` for none.  ``now`` is monotonic time."""
        ...

    async def renew(self, refused: str) -> bool:
        """Renew a header that the server refused with 401; return whether there is another."""
        ...


class Fixed:
    """A header that never changes: a token, a user and password, or ``""`` for no header."""

    certificate = None

    def __init__(self, header: str = "") -> None:
        self._header = header

    async def authorization(self, now: float) -> str:
        """Return the header."""
        del now
        return self._header

    async def renew(self, refused: str) -> bool:
        """Return False: there is no other header."""
        del refused
        return False

    def __bool__(self) -> bool:
        """Whether there is a header."""
        return bool(self._header)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'…' if self._header else ''})"


class TokenFile:
    """A token in a file that is rotated, such as the service account token of a pod.

    ``reread_seconds`` is how old the token in memory may be before the file is read again.
    """

    certificate = None

    def __init__(self, path: str | Path, *, reread_seconds: float = 60.0) -> None:
        self._path = Path(path)
        self._reread_seconds = reread_seconds
        self._header = ""
        self._read_at = float("-inf")

    async def authorization(self, now: float) -> str:
        """Return the header for the token in the file, read at most ``reread_seconds`` ago.

        While the file is missing, empty or broken, the last token is used.  If the server refuses
        it, ``renew`` raises an error that says what is wrong with the file.
        """
        if now - self._read_at >= self._reread_seconds:
            try:
                self._header = self._read()
            except UnreachableError:
                if not self._header:
                    raise  # the next request reads the file again
            self._read_at = now
        return self._header

    async def renew(self, refused: str) -> bool:
        """Read the file again; return whether its token is another one."""
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
        token = content.decode("latin-1").strip()  # UTF-8 could fail, with the token in the error
        if not is_one_word(token):
            raise self._failed(
                "does not hold just one token: it has a second line, a space or a character "
                "outside ASCII"
            )
        return bearer(token)

    def _failed(self, why: str) -> UnreachableError:
        return UnreachableError(f"the token file {self._path} {why}")

    def __repr__(self) -> str:
        return f"TokenFile({str(self._path)!r})"


class Renewable:
    """Base class of credentials that expire.

    They are renewed 30 seconds before they expire, and when the server refuses them.  Requests that
    need a renewal at the same time share one.  Until the credentials have expired, a renewal that
    fails is not an error.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock: Clock = clock or LoopClock()
        self._loaded_at = float("-inf")
        self._lock = asyncio.Lock()

    @property
    def header(self) -> str:
        """The current header."""
        raise NotImplementedError

    @property
    def expires_at(self) -> datetime | None:
        """When the credentials expire, None if that is not known."""
        raise NotImplementedError

    async def load(self) -> None:
        """Get new credentials; UnreachableError if that fails."""
        raise NotImplementedError

    async def authorization(self, now: float) -> str:
        """Return the header, renewed if it is about to expire."""
        if self._is_ending(now):
            async with self._lock:
                if self._is_ending(now):
                    self._loaded_at = now
                    await self._load_in_time()
        return self.header

    async def renew(self, refused: str) -> bool:
        """Load new credentials, unless another request has done so; return whether they differ."""
        async with self._lock:
            if self.header == refused:
                await self.load()
        return self.header != refused

    def is_over(self, early: timedelta = timedelta()) -> bool:
        """Whether the credentials have expired, or expire within ``early``."""
        return self.expires_at is not None and self._clock.now() + early >= self.expires_at

    def _is_ending(self, now: float) -> bool:
        return now - self._loaded_at >= _PAUSE_SECONDS and self.is_over(_EARLY)

    async def _load_in_time(self) -> None:
        """Load new credentials; a failure is raised only if the old ones have expired."""
        try:
            await self.load()
        except UnreachableError:
            if self.is_over():
                raise


class Plugin:
    """Credentials from an auth provider that kubernetes-asyncio's loader implements: Google's.

    The loader knows when a token expires.  It is asked every ``check_seconds``, and when the server
    has refused the token.
    """

    certificate = None

    def __init__(self, loader: Any, header: str, *, check_seconds: float = 60.0) -> None:
        self._loader = loader
        self._check_seconds = check_seconds
        self._header = header
        self._checked_at: float | None = None
        self._lock = asyncio.Lock()  # many requests at once must run the plugin only once

    async def authorization(self, now: float) -> str:
        """Return the header; ask the loader first if ``check_seconds`` have passed."""
        if self._checked_at is None:
            self._checked_at = now
        if now - self._checked_at >= self._check_seconds:
            async with self._lock:
                if now - self._checked_at >= self._check_seconds:
                    await self._load()
                    self._checked_at = now
        return self._header

    async def renew(self, refused: str) -> bool:
        """Run the plugin again, unless another request has; return whether the header differs."""
        async with self._lock:
            if self._header == refused:
                await self._load()
        return self._header != refused

    async def _load(self) -> None:
        target = SimpleNamespace(api_key={})
        try:
            await self._loader.load_and_set(target)
        except Exception as error:  # the loader passes on any exception of a plugin
            raise UnreachableError(f"no credentials could be obtained: {error}") from error
        header = str(target.api_key.get("BearerToken") or "").strip()
        if not header.isascii() or not header.isprintable():
            raise UnreachableError("no credentials could be obtained: the token cannot be sent")
        self._header = header

    def __repr__(self) -> str:
        return "Plugin()"
