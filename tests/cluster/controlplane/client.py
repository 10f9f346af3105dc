"""A minimal HTTP client for the control plane.

Tests of the control plane must not depend on myrmidon's own client, which has tests of its own.
"""

import http.client
import json
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Response:
    """A response of the server; a body that is not JSON is kept as text."""

    status: int
    body: Any


@dataclass(frozen=True)
class Client:
    """One connection per request: nothing is left open when a server is killed."""

    port: int
    ca: Path
    token: str
    timeout: float = 30.0
    _context: ssl.SSLContext = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_context", ssl.create_default_context(cafile=self.ca))

    def get(self, path: str) -> Response:
        """Read."""
        return self.request("GET", path)

    def post(self, path: str, body: Any) -> Response:
        """Create."""
        return self.request("POST", path, body)

    def delete(self, path: str) -> Response:
        """Delete."""
        return self.request("DELETE", path)

    def request(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> Response:
        """Send one request; raise OSError or HTTPException if there is no response."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=self.timeout, context=self._context
        )
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content_type}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return Response(answer.status, parsed(answer.read()))
        finally:
            connection.close()

    def status(self, path: str) -> int:
        """Return the status of a GET, or 0 if no server answers."""
        try:
            return self.get(path).status
        except (OSError, http.client.HTTPException):
            return 0


def parsed(body: bytes) -> Any:
    """Parse a body as JSON, or else as text: some errors of the server are plain text."""
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")
