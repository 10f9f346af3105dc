"""The server over sockets, for kubectl and every other client.

This is an asyncio protocol instead of a web framework.  Most requests are answered in the callback
that receives their last byte, without a task; that is several times as fast as aiohttp's server
(see benchmarks), and the command starts in half the time because it does not import one.

A request that has to wait (a watch, a revision, a webhook) runs as a task.  Further requests on the
same connection queue behind it, at most ``_WAITING_MAX``, because responses must come in order.  A
watch is written no faster than the client reads it.  If the client disconnects, the task is
cancelled.
"""

import asyncio
import logging
import ssl
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.fronts.http_parser import (
    Incoming,
    ProtocolError,
    RequestReader,
    host_of,
    is_address,
)
from myrmidon.apiserver.fronts.http_responses import AuditIds, encoded, watch_head
from myrmidon.apiserver.fronts.waiting import Tending, answer, settle, stream_watch
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.refusals.failures import Failure
from myrmidon.apiserver.requests.outcomes import Outcome
from myrmidon.apiserver.requests.watches import OpenWatch
from myrmidon.apiserver.server import ApiServer
from myrmidon.apiserver.verbs.dispatch import failed

_log = logging.getLogger(__name__)
_WAITING_MAX = 64  # queued requests per connection


class ClientConnection(asyncio.Protocol):
    """One client connection: reads requests, and writes the responses in the same order."""

    def __init__(
        self,
        server: ApiServer,
        connections: set["ClientConnection"],
        names: frozenset[str],
        audit_ids: AuditIds,
    ) -> None:
        self._server, self._connections, self._names = server, connections, names
        self._audit_ids = audit_ids
        self._loop = asyncio.get_running_loop()
        self._reader = RequestReader()
        self._waiting: deque[Incoming] = deque()
        self._busy: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._transport: asyncio.Transport | None = None

    # ------------------------------------------------------------------- called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the new connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Cancel the request that waits for its response: the client has disconnected."""
        self._connections.discard(self)
        self._writable.set()
        if self._busy is not None:
            self._busy.cancel()

    def pause_writing(self) -> None:
        """Pause the watch: the client reads too slowly."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Continue the watch: the client reads again."""
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        """Answer the requests that are complete."""
        self._reader.feed(data)
        try:
            while (incoming := self._reader.next()) is not None:
                self._receive(incoming)
        except ProtocolError as error:
            self._refuse(error)
            return
        if self._reader.wants_continue():
            self._write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def close(self) -> None:
        """Close the connection, and cancel the request in progress."""
        if self._busy is not None:
            self._busy.cancel()
        if self._transport is not None:
            self._transport.close()

    # ------------------------------------------------------------------------- answering

    def _receive(self, incoming: Incoming) -> None:
        if self._busy is None:
            self._respond(incoming)
            return
        self._waiting.append(incoming)
        if len(self._waiting) > _WAITING_MAX:
            self.close()

    def _respond(self, incoming: Incoming) -> None:
        """Answer at once, or start a task that waits for the response."""
        try:
            outcome = self._admit(incoming) or self._server.answer(incoming.request)
        except Exception:  # noqa: BLE001 - a bug must not end the server
            self._fail(incoming)
            return
        settle(self._server)
        if isinstance(outcome, HttpResponse):
            self._send(incoming, outcome)
        else:
            self._busy = self._loop.create_task(self._wait(incoming, outcome))
            self._busy.add_done_callback(self._done)

    def _admit(self, incoming: Incoming) -> HttpResponse | None:
        """Refuse a request that a web page may have sent under its own host name; None to accept.

        A page can point its own host name at the loopback address (DNS rebinding), and the browser
        then lets it talk to this server.  It cannot know a token, so only a server without tokens
        checks the Host header: it must be an IP address, or a name that belongs to this server.
        """
        if not self._server.core.tokens.is_open:
            return None
        host = host_of(incoming.request.headers.get("host", ""))
        if not host or host in self._names or is_address(host):
            return None
        message = f"this server is not {host}; it needs no token and answers local clients only"
        return failed(Failure(403, "Forbidden", message, details=False))

    async def _wait(self, incoming: Incoming, outcome: Outcome) -> None:
        try:
            answered = await answer(self._server, incoming.request, None, outcome)
            if isinstance(answered, HttpResponse):
                self._send(incoming, answered)
            else:
                await self._stream(incoming, answered)
        except Exception:  # noqa: BLE001 - a bug must not end the server
            self._fail(incoming)

    async def _stream(self, incoming: Incoming, watch: OpenWatch) -> None:
        """Send the lines of a watch, no faster than the client reads."""
        self._write(watch_head(watch, self._audit_ids.of(incoming.request)))
        async for line in stream_watch(self._server, watch):
            chunk = watch.frame(line)
            self._write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            await self._writable.wait()
        self._write(b"0\r\n\r\n")
        if not incoming.keep_alive:
            self.close()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._busy = None
        if task.cancelled() or self._transport is None or self._transport.is_closing():
            return
        while self._waiting and self._busy is None:
            self._respond(self._waiting.popleft())

    def _fail(self, incoming: Incoming) -> None:
        """Log the exception and send a 500: a bug in one request must not end the server."""
        request = incoming.request
        _log.exception("a request failed: %s %s", request.method, request.path)
        self._send(incoming, failed(Failure(500, "InternalError", "Internal error occurred")))

    def _refuse(self, error: ProtocolError) -> None:
        failure = Failure(error.status, "BadRequest", str(error), details=False)
        body = go_json.encode(failure.to_json())
        response = HttpResponse(error.status, (("content-type", "application/json"),), body)
        unread = HttpRequest("", "", (), {})
        self._write(encoded(response, unread, self._audit_ids.of(unread), keep_alive=False))
        self.close()

    def _send(self, incoming: Incoming, response: HttpResponse) -> None:
        request, keep_alive = incoming
        audit_id = self._audit_ids.of(request)
        self._write(encoded(response, request, audit_id, keep_alive=keep_alive))
        if not keep_alive:
            self.close()

    def _write(self, encoded: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(encoded)


@asynccontextmanager
async def serve(
    server: ApiServer,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[str]:
    """Serve until the block is left; yield the URL of the server.

    Without users, every client is the administrator, provided that the Host header is an IP address
    or a local name.  With users, a request needs the token of one of them, as a bearer token or as
    the first part of its path (``/token/TOKEN/api/v1``): kubectl does not send tokens over plain
    HTTP.  ``port`` 0, the default, picks a free port.  With ``tls``, the URL starts with https.
    """
    connections: set[ClientConnection] = set()
    names = frozenset({"localhost", host.lower()})
    audit_ids = AuditIds()
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(
        lambda: ClientConnection(server, connections, names, audit_ids),
        host,
        port,
        ssl=tls,
        backlog=1024,
    )
    tending = Tending(server)
    try:
        bound = listener.sockets[0].getsockname()[1]
        yield f"{'https' if tls else 'http'}://{host}:{bound}"
    finally:
        tending.stop()
        listener.close()
        for connection in tuple(connections):
            connection.close()
        await listener.wait_closed()
