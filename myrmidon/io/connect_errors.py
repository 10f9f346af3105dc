"""Why a connection failed, in a few words."""

import os
import socket
import ssl

import aiohttp


def why(error: Exception) -> str:
    """The reason of a failure, without the address; TLS has no use for numbers of errors.

    aiohttp says the address twice, and ``ssl:default`` where there is no TLS: what it wraps says more.
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
