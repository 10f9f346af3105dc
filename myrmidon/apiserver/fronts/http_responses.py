"""Responses as bytes of HTTP/1.1, with what only clients over sockets see.

Every response has the headers ``Audit-Id`` (that of the request, or a new one) and
``Cache-Control``; a JSON body ends with a newline; a body of more than 128 KiB is compressed if the
client accepts gzip.  The server in the same process (``local``) does without all of it.
"""

import itertools
import uuid
import zlib
from http import HTTPStatus

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.requests.watches import OpenWatch

_STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}
_NOT_CACHED = b"cache-control: no-cache, private\r\n"
_COMPRESSED = b"content-encoding: gzip\r\nvary: Accept-Encoding\r\n"
_COMPRESSED_MIN, _COMPRESSED_MAX = 128 * 1024, 4 * 1024 * 1024  # more would hold up other clients
_GZIP = 16 + zlib.MAX_WBITS
_WITHOUT_NEWLINE = ("/version", "/openapi", "/.well-known")  # documents that are not API objects
_JSON = ("content-type", "application/json")


class AuditIds:
    """Ids for requests that do not bring their own: a random part for each server, and a number."""

    def __init__(self) -> None:
        self._prefix, self._numbers = str(uuid.uuid4())[:-12], itertools.count(1)

    def of(self, request: HttpRequest) -> str:
        """Return the id of a request."""
        return request.headers.get("audit-id") or f"{self._prefix}{next(self._numbers):012x}"


def encoded(
    response: HttpResponse, request: HttpRequest, audit_id: str, *, keep_alive: bool
) -> bytes:
    """Return a whole response."""
    parts = _head(response.status, response.headers, audit_id)
    body = response.body
    if _JSON in response.headers and (
        response.status >= 400 or not request.path.startswith(_WITHOUT_NEWLINE)
    ):
        body += b"\n"
    if len(body) > _COMPRESSED_MIN and _takes_gzip(request, body):
        packer = zlib.compressobj(1, zlib.DEFLATED, _GZIP)
        body = packer.compress(body) + packer.flush()
        parts.append(_COMPRESSED)
    parts.append(b"content-length: %d\r\n" % len(body))
    if not keep_alive:
        parts.append(b"connection: close\r\n")
    parts.append(b"\r\n")
    if request.method != "HEAD":
        parts.append(body)
    return b"".join(parts)


def watch_head(watch: OpenWatch, audit_id: str) -> bytes:
    """Return the head of a response whose body follows in chunks."""
    return b"".join((*_head(200, watch.headers, audit_id), b"transfer-encoding: chunked\r\n\r\n"))


def _head(status: int, headers: tuple[tuple[str, str], ...], audit_id: str) -> list[bytes]:
    parts = [_STATUS_LINES[status], _header("audit-id", audit_id)]
    is_cached = False
    for name, value in headers:
        parts.append(_header(name, value))
        is_cached = is_cached or name == "cache-control"
    if not is_cached:
        parts.append(_NOT_CACHED)
    return parts


def _header(name: str, value: str) -> bytes:
    return f"{name}: {value}\r\n".encode("utf-8", "replace")


def _takes_gzip(request: HttpRequest, body: bytes) -> bool:
    if len(body) > _COMPRESSED_MAX or request.path.startswith("/openapi/v3"):
        return False
    accepted = request.headers.get("accept-encoding", "")
    return any(part.partition(";")[0].strip() == "gzip" for part in accepted.split(","))
