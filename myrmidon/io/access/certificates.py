"""The TLS context of an endpoint, built again when its certificate files are replaced.

Certificates are rotated on disk: the client's by its issuer, the cluster's CA by the kubelet.
After a rotation, an API server answers the old client certificate with 401, a proxy closes the
connection, and with a new CA the handshake fails.  So the transport checks the files (inode, time
of change, size) once a minute and after every failure.
"""

import ssl
from pathlib import Path
from typing import TypeAlias

from myrmidon.errors import UsageError
from myrmidon.io.access.kubeconfig import Tls
from myrmidon.io.access.tls_context import client_context

_Look: TypeAlias = tuple[Tls, tuple[tuple[int, int, int] | None, ...]]


class Certificates:
    """A TLS context, and the state of its files when it was built."""

    def __init__(self, tls: Tls) -> None:
        self._look = _look_at(tls)
        self.context = ssl_context(tls)

    def renew(self, tls: Tls) -> bool:
        """Build a new context if the files have changed; return whether there is a new one.

        Files that cannot be loaded together are a rotation that is not finished: the old context is
        kept, and the next call tries again.
        """
        look = _look_at(tls)
        if look == self._look:
            return False
        try:
            self.context = ssl_context(tls)
        except UsageError:
            return False
        self._look = look
        return True


def ssl_context(tls: Tls) -> ssl.SSLContext:
    """Return the TLS context for the files of an endpoint; UsageError if they cannot be loaded."""
    try:
        context = client_context(tls.ca_file or None)
        if not tls.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if tls.cert_file:
            # Without a password argument, OpenSSL asks for one on the terminal, and waits.
            context.load_cert_chain(tls.cert_file, tls.key_file or None, password="")
    except OSError as error:  # includes ssl.SSLError
        named = tls.cert_file or tls.ca_file
        raise UsageError(
            f"the certificates of the cluster cannot be read ({named}): {error}.\n"
            "  fix: check certificate-authority, client-certificate and client-key in the "
            "kubeconfig"
        ) from error
    return context


def _look_at(tls: Tls) -> _Look:
    return tls, tuple(_stat(file) for file in (tls.ca_file, tls.cert_file, tls.key_file))


def _stat(file: str) -> tuple[int, int, int] | None:
    try:
        found = Path(file).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
