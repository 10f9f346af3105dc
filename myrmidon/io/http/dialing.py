"""Open a connection: look up the name, connect, pass the proxy, do the TLS handshake.

A name may have several addresses, and a connection to one of them may hang instead of failing.
So the next address is tried in parallel after a quarter of a second, and the first one that
connects is used (Happy Eyeballs, RFC 8305).  The socket is connected here, and only then given to
``create_connection``, because uvloop's version tries one address after the other.

If the server speaks TLS, a proxy is asked for a tunnel (CONNECT).  Otherwise the proxy gets the
requests themselves; see ``pool``.
"""

import asyncio
import socket
import ssl
from collections.abc import Sequence

from aiohappyeyeballs import AddrInfoType, start_connection

from myrmidon.io.access.addresses import Address
from myrmidon.io.access.tls_context import client_context
from myrmidon.io.http.tls import TlsWire
from myrmidon.io.http.tunnels import open_tunnel
from myrmidon.io.http.wires import Receiver, SocketWire, Wire

_NEXT_ADDRESS_SECONDS = 0.25


async def dial(address: Address, receiver: Receiver) -> Wire:
    """Return an open wire to the server.  If the caller is cancelled, the socket is closed.

    Raises ``OSError``, including its subclasses ``ssl.SSLError`` and ``socket.gaierror``.
    """
    lowest = wire = await _connected(address, receiver)
    try:
        if address.proxy is not None:
            if address.proxy.is_tls:
                context = address.tls or client_context()
                wire = await _secured(wire, context, address.proxy.host, receiver)
            if address.tls is not None:
                await open_tunnel(wire, address)
        if address.tls is not None:
            wire = await _secured(wire, address.tls, address.server_name or address.host, receiver)
    except BaseException:
        lowest.close()
        raise
    return wire


async def _connected(address: Address, receiver: Receiver) -> Wire:
    """Return a TCP wire to the proxy, or to the server if there is no proxy."""
    loop = asyncio.get_running_loop()
    place = address.proxy or address
    infos = await _addresses(place.host, place.port)
    sock = await start_connection(infos, happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS)
    try:
        wire = SocketWire(sock, receiver)
        await loop.create_connection(lambda: wire, sock=sock)
    except BaseException:
        sock.close()
        raise
    return wire


async def _secured(
    lower: Wire, context: ssl.SSLContext, server_name: str, receiver: Receiver
) -> Wire:
    """Return a TLS wire on top of ``lower``, with the handshake done."""
    wire = TlsWire(lower, context, server_name, receiver)
    lower.receiver = wire
    await wire.shake_hands()
    return wire


async def _addresses(host: str, port: int) -> Sequence[AddrInfoType]:
    """Look up a host name.  Raises ``socket.gaierror`` also for an invalid name."""
    try:  # an IP address needs no resolver thread
        flags = socket.AI_NUMERICHOST
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    except (socket.gaierror, UnicodeError):
        loop = asyncio.get_running_loop()
    try:
        return await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise socket.gaierror(socket.EAI_NONAME, f"{host!r} is not a host name") from error
