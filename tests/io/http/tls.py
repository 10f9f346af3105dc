"""A server with TLS that returns the client's name, and may refuse some."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from myrmidon.io.access.kubeconfig import Tls
from tests.cluster.controlplane.pki import Authority


class Guarded:
    """Knows its clients by their certificates; ``refused`` names get a 401."""

    def __init__(
        self, folder: Path, *, strict: bool = False, authority: Authority | None = None
    ) -> None:
        self.folder, self.authority = folder, authority or Authority()
        self.refused: set[str] = set()
        self.connections: list[asyncio.StreamWriter] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""
        self._strict = strict  # whether TLS itself requires a valid certificate
        self.authority.write(folder / "ca.crt")
        self.authority.issue_server(folder / "server", "server")

    @property
    def tls(self) -> Tls:
        """Return the files of a client."""
        ca, cert, key = (str(self.folder / name) for name in ("ca.crt", "me.crt", "me.key"))
        return Tls(ca_file=ca, cert_file=cert, key_file=key)

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncIterator["Guarded"]:
        """Serve for a while."""
        context = ssl.create_default_context(
            ssl.Purpose.CLIENT_AUTH, cafile=str(self.folder / "ca.crt")
        )
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # as a server in Go verifies
        context.load_cert_chain(self.folder / "server.crt", self.folder / "server.key")
        context.verify_mode = ssl.CERT_REQUIRED if self._strict else ssl.CERT_OPTIONAL
        server = await asyncio.start_server(self._serve, "127.0.0.1", port, ssl=context)
        self.url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            for writer in self.connections:
                writer.transport.abort()
            await server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(writer)
        certificate: Any = writer.get_extra_info("peercert") or {}
        parts = [part for parts in certificate.get("subject", ()) for part in parts]
        user = dict(parts).get("commonName", "")
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                lines = [line.partition(": ") for line in head.splitlines()[1:-1]]
                headers = {name: value for name, _, value in lines}
                self.headers.append(headers)
                await reader.readexactly(int(headers.get("content-length", "0")))
                status = "401 Unauthorized" if user in self.refused else "200 OK"
                body = json.dumps({"user": user}) + "\n"
                writer.write(
                    f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()
                )
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            writer.transport.abort()
