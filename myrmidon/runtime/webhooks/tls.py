"""TLS for the webhook server: a context whose certificate can be replaced, and whether it is trusted.

One ``ssl.SSLContext`` serves all connections.  Loading another certificate into it changes the next
handshakes; open connections go on with the old one, so a rotation fails no request.

OpenSSL reads certificates from files only.  The file system of the pod is read-only, so on Linux the
"file" is a piece of memory.
"""

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class CertificatePair(NamedTuple):
    """A certificate, with its intermediate ones, and its key, as PEM."""

    certificate: bytes
    key: bytes


def server_context() -> ssl.SSLContext:
    """Return a context without a certificate; handshakes fail until one is loaded."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def load_pair(context: ssl.SSLContext, pair: CertificatePair) -> None:
    """Use a certificate for the next connections; raise ``ssl.SSLError`` if it does not fit its key.

    The certificate of before stays in use if the new one is refused.
    """
    fresh = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    for each in (fresh, context):
        with _file(pair.certificate + b"\n" + pair.key) as path:
            each.load_cert_chain(path)


def trust_problem(context: ssl.SSLContext, bundle: bytes, host: str) -> str | None:
    """Return why a client with this CA bundle refuses the server's certificate; None if it does not.

    A handshake between two ends in memory: the same checks as those of the API server.
    """
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        client.load_verify_locations(cadata=bundle.decode())
    except (ssl.SSLError, ValueError) as error:
        return f"the CA bundle cannot be read: {error}"
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=host),
        context.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(10):
        done = 0
        for end in ends:
            try:
                end.do_handshake()
                done += 1
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLCertVerificationError as error:
                return f"the certificate is not trusted: {error.verify_message}"
            except ssl.SSLError as error:
                return f"the TLS handshake fails: {error.reason or error}"
        if done == len(ends):
            return None
    return "the TLS handshake does not end"


@contextmanager
def _file(content: bytes) -> Iterator[str]:
    if hasattr(os, "memfd_create"):
        number = os.memfd_create("certificate")
        try:
            os.write(number, content)
            yield f"/proc/self/fd/{number}"
        finally:
            os.close(number)
        return
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        yield file.name
