"""The plainest HTTP client that can talk to the control plane.

Tests of the control plane must not lean on myrmidon's own client, which has tests of its own.
"""

import http.client
import json
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Response:
    """What the server answered; a body that is no JSON is kept as text."""

    status: int
    body: Any


@dataclass(frozen=True)
class Client:
    """One connection for each request: nothing is left open when a server is killed."""

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
        """Send one request; anything that is no answer raises OSError or HTTPException."""
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
        """Give the status of a GET, or 0 where there is no server to answer."""
        try:
            return self.get(path).status
        except (OSError, http.client.HTTPException):
            return 0


def parsed(body: bytes) -> Any:
    """Read a body as JSON, or else as text: some of the server's own failures are plain text."""
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")
