"""Readable reasons for failed connections."""

import os
import socket
import ssl

import aiohttp


def why(error: Exception) -> str:
    """Return the reason of a failed connection, without the address.

    For an OSError that is the text of its errno.  TLS and name lookup errors have a text of their
    own, and their numbers are not errnos.  Errors of aiohttp repeat the address and print
    ``ssl:default`` even without TLS, so the error that they wrap is used.
    """
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return why(error.certificate_error)
    if isinstance(error, aiohttp.ClientConnectorError):
        return why(error.os_error)
    if isinstance(error, ssl.SSLEOFError) or (
        isinstance(error, ConnectionResetError) and not error.errno
    ):
        return "the server closed the connection"
    if isinstance(error, ssl.SSLError | socket.gaierror) or not isinstance(error, OSError):
        return str(error) or type(error).__name__
    return os.strerror(error.errno).lower() if error.errno else str(error) or type(error).__name__
