"""The TLS context of an endpoint, made anew when its files are replaced.

Certificates are rotated on disk: a client's by whoever issues it, the cluster's CA by the kubelet.
An API server answers an old certificate with 401, a proxy before it closes the connection, and a new
CA lets the handshake fail; so the files are looked at from time to time and after every failure.
"""

import ssl
from pathlib import Path
from typing import TypeAlias

from myrmidon.errors import UsageError
from myrmidon.io.access.kubeconfig import Tls
from myrmidon.io.access.tls_context import client_context

_Look: TypeAlias = tuple[Tls, tuple[tuple[int, int, int] | None, ...]]


class Certificates:
    """A context, and what its files looked like when it was made."""

    def __init__(self, tls: Tls) -> None:
        self._look = _look_at(tls)
        self.context = ssl_context(tls)

    def renew(self, tls: Tls) -> bool:
        """Whether there is another context now.

        Files that do not fit together are half of a rotation: the old context is kept, and they
        are looked at again the next time.
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
    """The TLS material of an endpoint as Python wants it."""
    try:
        context = client_context(tls.ca_file or None)
        if not tls.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if tls.cert_file:
            # Without a password of ours OpenSSL would ask for one on the terminal, and wait.
            context.load_cert_chain(tls.cert_file, tls.key_file or None, password="")
    except OSError as error:  # ssl.SSLError is one
        named = tls.cert_file or tls.ca_file
        raise UsageError(
            f"the certificates of the cluster cannot be read ({named}): {error}.\n"
            "  fix: check certificate-authority, client-certificate and client-key in the kubeconfig"
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
