"""Parse HTTP/1.1 requests from bytes, without I/O.

Because there is no I/O, tests can try every way to split a request, and every malformed one,
without a socket.  ``feed`` takes bytes as they arrive and ``next`` returns each request once it is
complete.

Memory is bounded: a reader keeps at most one head and one body of limited size.  Of a body that is
too large, one byte more than allowed is kept, so that the handler answers with the 413 of the API,
and the rest is discarded; a chunked body that is too large ends the connection.  Ambiguous
requests, for example with two body lengths, are refused, because they can smuggle requests
past proxies.
"""

import re
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from myrmidon.api.requests.transport import HttpRequest
from myrmidon.apiserver.verbs.bodies import BODY_BYTES_MAX

HEAD_BYTES_MAX = 64 * 1024
_LINE_BYTES_MAX = 1024  # limit of a chunk-size line and of a trailer
_QUERY_FIELDS_MAX = 1000
_KEPT_BYTES_MAX = BODY_BYTES_MAX + 1  # one too many, so that the handler answers with a 413

_REQUEST_LINE = re.compile(
    rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) ([^\x00-\x20\x7f]+) HTTP/1\.([01])"
)
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00\r\n]*?)[ \t]*")
_TOKEN_PATH = re.compile(r"/token/([A-Za-z0-9._~+-]{1,4096})(?=/|$)")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\x00\r\n]*)?")


class ProtocolError(Exception):
    """The bytes are not a valid request; the connection must be closed."""

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.status = status


class Incoming(NamedTuple):
    """A request, and whether the connection stays open after it."""

    request: HttpRequest
    keep_alive: bool


class _Head(NamedTuple):
    request: HttpRequest
    keep_alive: bool
    length: int  # of the body; -1 if it is chunked


class RequestReader:
    """Takes bytes as they arrive, and returns requests as they become complete."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0  # the end of the head is not before this position
        self._head: _Head | None = None
        self._body = bytearray()
        self._left = 0  # bytes of the body, or of the chunk, still to be read
        self._in_chunk = False
        self._discarding = 0  # remaining bytes of a body that was too large
        self._continues = False

    def feed(self, received: bytes) -> None:
        """Add received bytes."""
        self._buffer += received

    def wants_continue(self) -> bool:
        """Whether to send ``100 Continue`` before the body; true once per request."""
        wants, self._continues = self._continues, False
        return wants

    def next(self) -> Incoming | None:
        """Return the next request, None until it is complete; raise ``ProtocolError``."""
        if self._discarding:
            self._discard()
        if self._head is None and not self._discarding:
            self._read_head()
        if self._head is None:
            return None
        complete = self._read_chunks() if self._head.length < 0 else self._read_body()
        return self._finish() if complete else None

    def _finish(self) -> Incoming:
        assert self._head is not None
        request, keep_alive, _ = self._head
        if self._body:
            body = bytes(self._body)
            request = HttpRequest(
                request.method, request.path, request.query, request.headers, body
            )
        self._head, self._continues = None, False
        self._body = bytearray()
        return Incoming(request, keep_alive)

    # ------------------------------------------------------------------------- the head

    def _read_head(self) -> None:
        buffer = self._buffer
        while buffer[:2] == b"\r\n":  # some clients send an empty line after a body
            del buffer[:2]
        end = buffer.find(b"\r\n\r\n", max(self._searched - 3, 0))
        if end < 0:
            self._searched = len(buffer)
            if len(buffer) > HEAD_BYTES_MAX:
                raise ProtocolError(431, "the head of the request is too large")
            return
        if end > HEAD_BYTES_MAX:
            raise ProtocolError(431, "the head of the request is too large")
        head = bytes(buffer[:end])
        del buffer[: end + 4]
        self._searched = 0
        self._head = _parse_head(head)
        self._left, self._in_chunk = max(self._head.length, 0), False
        waits = self._head.request.headers.get("expect", "").lower() == "100-continue"
        self._continues = waits and self._head.length != 0

    # ------------------------------------------------------------------------- the body

    def _read_body(self) -> bool:
        """Read available bytes; whether the body is complete, or too large to be kept."""
        self._take()
        if self._left and len(self._body) >= _KEPT_BYTES_MAX:
            self._discarding, self._left = self._left, 0
        return not self._left

    def _take(self) -> None:
        """Move the available bytes of the body, or of a chunk, from the buffer to the body."""
        count = min(self._left, len(self._buffer), _KEPT_BYTES_MAX - len(self._body))
        self._body += self._buffer[:count]
        del self._buffer[:count]
        self._left -= count

    def _discard(self) -> None:
        count = min(self._discarding, len(self._buffer))
        del self._buffer[:count]
        self._discarding -= count

    def _read_chunks(self) -> bool:
        while True:
            if self._left:
                self._take()
                if len(self._body) >= _KEPT_BYTES_MAX:
                    raise ProtocolError(413, "the body of the request is too large")
                if self._left:
                    return False
            line = self._line()
            if line is None:
                return False
            if self._in_chunk:
                if line:
                    raise ProtocolError(400, "a chunk is longer than its size")
                self._in_chunk = False
            elif not self._begin_chunk(line):
                return self._read_trailers()

    def _begin_chunk(self, line: bytes) -> bool:
        """Whether another chunk begins; the last one has size 0."""
        match = _CHUNK_SIZE.fullmatch(line)
        if match is None:
            raise ProtocolError(400, "the size of a chunk is not a number")
        self._left = int(match[1], 16)
        self._in_chunk = self._left > 0
        return self._in_chunk

    def _read_trailers(self) -> bool:
        """Skip the trailers of a chunked body; whether the final empty line has arrived."""
        while True:
            line = self._line()
            if line is None:
                self._buffer[:0] = b"0\r\n"  # try again when more bytes have arrived
                return False
            if not line:
                return True

    def _line(self) -> bytes | None:
        end = self._buffer.find(b"\r\n", 0, _LINE_BYTES_MAX + 2)
        if end < 0:
            if len(self._buffer) > _LINE_BYTES_MAX:
                raise ProtocolError(400, "a line of the body is too long")
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line


def host_of(header: str) -> str:
    """Return the host of a Host header, without port and brackets."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.rpartition(":")[0].lower() if ":" in header else header.lower()


def is_address(host: str) -> bool:
    """Whether a host is an IP address or below ``.localhost``.

    A web page cannot make either of them resolve to this server, as it can with a name of its own.
    """
    try:
        ip_address(host)
    except ValueError:
        return host.endswith(".localhost")
    return True


def _parse_head(head: bytes) -> _Head:
    first, *lines = head.split(b"\r\n")
    match = _REQUEST_LINE.fullmatch(first)
    if match is None:
        raise ProtocolError(400, "the first line is not a request")
    headers: dict[str, str] = {}
    for line in lines:
        header = _HEADER.fullmatch(line)
        if header is None:
            raise ProtocolError(400, "a header is malformed")
        name, value = header[1].decode().lower(), header[2].decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    path, query = _parse_target(match[2].decode("latin-1"))
    if found := _TOKEN_PATH.match(path):
        headers.setdefault("authorization", f"Bearer {found[1]}")
        path = path[found.end() :] or "/"
    connection = headers.get("connection", "").lower()
    keep_alive = "close" not in connection if match[3] == b"1" else "keep-alive" in connection
    request = HttpRequest(match[1].decode(), path, query, headers)
    return _Head(request, keep_alive, _body_length(headers))


def _parse_target(target: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    try:
        if not target.startswith("/"):  # a proxy sends an absolute URL
            parts = urlsplit(target)
            target = f"{parts.path or '/'}?{parts.query}"
        path, _, query = target.partition("#")[0].partition("?")
        if not query:
            return path, ()
        fields = parse_qsl(query, keep_blank_values=True, max_num_fields=_QUERY_FIELDS_MAX)
    except ValueError:
        raise ProtocolError(400, "the address of the request is malformed") from None
    return path, tuple(fields)


def _body_length(headers: dict[str, str]) -> int:
    encoding, length = headers.get("transfer-encoding"), headers.get("content-length")
    if encoding is not None:
        # Both headers at once are a way to smuggle requests past proxies.
        if encoding.lower() != "chunked" or length is not None:
            raise ProtocolError(400, "the length of the body is ambiguous")
        return -1
    if length is None:
        return 0
    if not (length.isascii() and length.isdigit()) or len(length) > 15:
        raise ProtocolError(400, "the length of the body is not a number")
    return int(length)
