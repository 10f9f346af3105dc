"""A TCP proxy that breaks connections.  It passes TLS through and sees only bytes."""

import contextlib
import socket
import struct
import threading
from types import TracebackType
from typing import Self

_CHUNK_BYTES = 1 << 14
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: on, for 0 seconds; closing then resets


class _Link:
    """One connection from a client to the server."""

    def __init__(
        self, client: socket.socket, server: socket.socket, bytes_left: int | None
    ) -> None:
        self.client, self.server = client, server
        self.bytes_left = bytes_left  # of the server's responses; None for no limit
        self.flows = threading.Event()
        self.flows.set()

    def reset(self) -> None:
        """Reset it, as a machine does that lost power and was restarted."""
        for side in (self.client, self.server):
            with contextlib.suppress(OSError):
                side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                side.shutdown(socket.SHUT_RDWR)
            side.close()
        self.flows.set()


class Proxy:
    """Listens on a port of its own and passes everything on to another."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._links: list[_Link] = []
        self._limit: int | None = None
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._run(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(5)

    @property
    def links(self) -> int:
        """Return how many connections were ever made."""
        return len(self._links)

    def has_made(self, links: int) -> bool:
        """Whether so many connections were ever made."""
        return self.links >= links

    def cut(self) -> None:
        """Reset every connection; new ones are accepted."""
        for link in list(self._links):
            link.reset()

    def stall(self) -> None:
        """Silence every open connection; new ones are not affected."""
        for link in list(self._links):
            link.flows.clear()

    def limit(self, old: int, new: int) -> None:
        """Reset old and new connections after so many more bytes of responses."""
        self._limit = new
        for link in list(self._links):
            link.bytes_left = old

    def shut(self) -> None:
        """Reset every connection, and new ones before a byte is sent."""
        self.limit(old=0, new=0)
        self.cut()

    def heal(self) -> None:
        """Stop breaking connections."""
        self._limit = None
        for link in list(self._links):
            link.bytes_left = None

    # ------------------------------------------------------------------------------- inside

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                client.close()
                continue
            link = _Link(client, server, self._limit)
            self._links.append(link)
            self._run(lambda link=link: self._pump(link, link.client, link.server))
            self._run(lambda link=link: self._pump(link, link.server, link.client))

    def _pump(self, link: _Link, source: socket.socket, sink: socket.socket) -> None:
        from_server = source is link.server
        try:
            while data := source.recv(_CHUNK_BYTES):
                link.flows.wait()
                if from_server and link.bytes_left is not None:
                    sink.sendall(data[: link.bytes_left])
                    link.bytes_left -= len(data)
                    if link.bytes_left <= 0:
                        break
                    continue
                sink.sendall(data)
        except OSError:
            pass
        link.reset()

    def _run(self, target: object) -> None:
        assert callable(target)
        thread = threading.Thread(target=target, daemon=True)
        self._threads.append(thread)
        thread.start()
