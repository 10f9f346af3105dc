"""One HTTP/1.1 connection: one request at a time, then its answer.

Controllers send many small writes, and a full HTTP client spends more time on each than the write
needs.  Here a request is written as one ``bytes``, and its answer is one future, filled by
httptools (the HTTP parser of Node.js).  ``benchmarks/transport.py`` compares the cost with aiohttp.

What must hold:

- An answer belongs to the request under way.  If bytes arrive while no request is under way, the
  connection is not used again: they would be taken for the beginning of the next answer.
- 1xx answers precede the final answer and are skipped, except 101, after which the server would
  speak another protocol.
- The error says whether the request may have reached the server (``AmbiguousError``) or was not
  sent (``UnreachableError``).

Not handled: pipelining, HTTP/2, compression.
"""

import asyncio
from functools import lru_cache

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from myrmidon.api.requests.transport import HttpResponse
from myrmidon.errors import AmbiguousError, UnreachableError
from myrmidon.io.access.connect_errors import why
from myrmidon.io.http.streams import Stream
from myrmidon.io.http.wires import Bytes, Wire

_OTHER_PROTOCOL = "the server wants to speak another protocol (101 Switching Protocols)"
_ENDED_BY = frozenset({"content-length", "transfer-encoding"})


class Connection:
    """An HTTP connection, as the receiver of a wire.  ``wire`` is None until the wire is open."""

    def __init__(self) -> None:
        self.wire: Wire | None = None
        self._parser = HttpResponseParser(self)
        self._answer: asyncio.Future[HttpResponse] | None = None
        self._begun: asyncio.Future[Stream] | None = None
        self._stream: Stream | None = None
        self._headers: list[tuple[str, str]] = []
        self._body: list[bytes] = []
        self._has_begun = False  # the headers of an answer have arrived
        self._end = ""  # why no further request can be sent
        self.has_heard = False  # bytes have arrived since the last request was written
        self.is_reusable = True

    async def exchange(self, message: bytes, until: float = float("inf")) -> HttpResponse:
        """Write a request and return its answer.

        Raises ``UnreachableError`` instead of writing at ``until`` (of the event loop's clock) or
        later.  A deadline cancels its task, but only when the event loop runs the timer: after the
        loop was blocked, the task may get here before the timer fires.
        """
        loop = asyncio.get_running_loop()
        wire = self._usable_wire(loop, until)
        self._answer, self.has_heard = loop.create_future(), False
        wire.write(message)
        try:
            return await self._answer
        finally:
            self._answer = None

    async def begin(self, message: bytes) -> Stream:
        """Write a request and return its answer once the headers are there.

        The connection cannot be used for another request.
        """
        loop = asyncio.get_running_loop()
        wire = self._usable_wire(loop)
        self.is_reusable = False
        self._begun = loop.create_future()
        wire.write(message)
        return await self._begun

    @property
    def is_quiet(self) -> bool:
        """Whether the kernel holds no unread bytes and no end of the connection."""
        return self.wire is not None and self.wire.is_quiet

    def close(self) -> None:
        """Close the connection; bytes in the kernel's send buffer are still delivered."""
        self.is_reusable = False
        if self.wire is not None:
            self.wire.close()

    def reset(self) -> None:
        """Reset the connection, so that a cancelled request is not delivered later."""
        self.is_reusable = False
        if self.wire is not None:
            self.wire.reset()

    # ----------------------------------------------------------------- called by the wire

    def received(self, data: Bytes) -> None:
        """Parse bytes of an answer."""
        if self._begun is None and (self._answer is None or self._answer.done()):
            self._fail("the server sent bytes that belong to no request")
            self.close()
            return
        self.has_heard = True
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self._fail(_OTHER_PROTOCOL)
        except HttpParserError as error:
            self._fail(f"the answer is not HTTP: {error}")

    def lost(self, error: Exception | None) -> None:
        """Complete an answer that ends with the connection; fail any other."""
        if error is None and self._has_begun and self._ends_with_connection():
            self.on_message_complete()
        is_given_up = self._answer is not None and not self._answer.done()
        self._fail(why(error) if error else "the server closed the connection")
        if is_given_up:  # the server closed its sending half, but may still read the request
            self.reset()
        else:
            self.close()

    # --------------------------------------------------------------- called by the parser

    def on_message_begin(self) -> None:  # noqa: D102
        self._headers, self._body, self._has_begun = [], [], False
        if self._answer is not None and self._answer.done():  # a second answer in the same bytes
            self.is_reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:  # noqa: D102
        self._headers.append((_header_name(name), value.decode("latin-1")))

    def on_headers_complete(self) -> None:  # noqa: D102
        status = self._parser.get_status_code()
        if status < 200:
            if status == 101:
                self._fail(_OTHER_PROTOCOL)
            return
        self._has_begun = True
        if self._begun is not None and not self._begun.done() and self.wire is not None:
            self._stream = Stream(status, tuple(self._headers), self.wire)
            self._begun.set_result(self._stream)

    def on_body(self, data: bytes) -> None:  # noqa: D102
        if self._stream is None:
            self._body.append(data)
        else:
            self._stream.feed(data)

    def on_message_complete(self) -> None:  # noqa: D102
        status = self._parser.get_status_code()
        if status < 200:
            return
        self._has_begun = False
        if self._stream is not None:
            self._stream.end()
        elif self._answer is not None and not self._answer.done():
            self.is_reusable = (
                self.is_reusable
                and bool(self._parser.should_keep_alive())
                and self.wire is not None
                and self.wire.is_flushed  # else the server answered before it read all
            )
            body = b"".join(self._body)
            self._answer.set_result(HttpResponse(status, tuple(self._headers), body))

    # ------------------------------------------------------------------------------ inside

    def _usable_wire(self, loop: asyncio.AbstractEventLoop, until: float = float("inf")) -> Wire:
        assert self.wire is not None, "a request needs an open connection"
        if self._end:
            raise UnreachableError(self._end)
        if loop.time() >= until:
            raise UnreachableError("the deadline passed before the request was sent")
        return self.wire

    def _ends_with_connection(self) -> bool:
        return not any(name in _ENDED_BY for name, _ in self._headers)

    def _fail(self, reason: str) -> None:
        """Mark the connection as unusable, and fail the answer or stream that is under way."""
        self.is_reusable, self._end = False, self._end or reason
        if self._stream is not None:
            self._stream.end(AmbiguousError(reason))
        for waiting in (self._answer, self._begun):
            if waiting is not None and not waiting.done():
                waiting.set_exception(AmbiguousError(reason))


@lru_cache(maxsize=256)
def _header_name(name: bytes) -> str:
    """Return the name in lower case.  Cached: every answer has the same few headers."""
    return name.decode("latin-1").lower()
