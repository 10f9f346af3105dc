"""A webhook in a thread, for a real API server: any function of a review, of conversion or admission.

A function that returns ``(status, body)`` instead of a document answers with exactly these bytes.
"""

import json
import ssl
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.cluster.controlplane.pki import Authority

Review = Callable[[dict[str, Any]], Any]


class ConversionWebhook:
    """The clientConfig of the webhook, and the reviews that it was asked."""

    def __init__(self, review: Review) -> None:
        self.review = review
        self.reviews: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.client: dict[str, str] = {}


@contextmanager
def conversion_webhook(folder: Path, review: Review) -> Iterator[ConversionWebhook]:
    """Serve a function at ``/convert``, over TLS with a certificate of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    authority = Authority("conversion-ca")
    authority.write(folder / "ca.crt")
    authority.issue_server(folder / "server", "conversion")
    webhook = ConversionWebhook(review)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = (
            1 << 16
        )  # header and body in one segment: else each answer waits 40 ms for an ACK

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            webhook.reviews.append(asked)
            webhook.paths.append(self.path)
            answer = webhook.review(asked)
            status, body = (
                answer if isinstance(answer, tuple) else (200, json.dumps(answer).encode())
            )
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    bundle = b64encode((folder / "ca.crt").read_bytes()).decode()
    url = f"https://127.0.0.1:{server.server_address[1]}/convert"
    webhook.client = {"url": url, "caBundle": bundle}
    try:
        yield webhook
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
