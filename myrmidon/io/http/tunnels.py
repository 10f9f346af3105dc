"""Ask an HTTP proxy for a tunnel to a server (CONNECT), before TLS goes through it."""

import asyncio

from myrmidon.io.access.addresses import Address
from myrmidon.io.http.wires import Bytes, Wire

_HEAD_BYTES_MAX = 1 << 16
_SAID_MAX = 100


class _Answer:
    """Collects the status line and headers of a proxy's answer."""

    def __init__(self) -> None:
        self.head: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._heard = b""

    def received(self, data: Bytes) -> None:
        """Buffer bytes until the head of the answer is complete.

        Bytes after the head are an error: in TLS the client sends first.
        """
        self._heard += data
        head, end, rest = self._heard.partition(b"\r\n\r\n")
        if self.head.done():
            return
        if (end and rest) or len(head) > _HEAD_BYTES_MAX:
            self.head.set_exception(OSError("the proxy sent more than an answer to CONNECT"))
        elif end:
            self.head.set_result(head)

    def lost(self, error: Exception | None) -> None:
        """Fail: the connection ended before the answer was complete."""
        if not self.head.done():
            self.head.set_exception(error or OSError("the proxy closed the connection"))


async def open_tunnel(wire: Wire, address: Address) -> None:
    """Ask the proxy at the other end of the wire to connect to the address.

    Raises ``OSError`` if it refuses.
    """
    assert address.proxy is not None, "a tunnel leads through a proxy"
    answer = wire.receiver = _Answer()
    lines = [f"CONNECT {address} HTTP/1.1", f"host: {address}"]
    if address.proxy.authorization:
        lines.append(f"proxy-authorization: {address.proxy.authorization}")
    wire.write("\r\n".join((*lines, "", "")).encode())
    said = (await answer.head).partition(b"\r\n")[0].decode("latin-1")
    protocol, _, status = said.partition(" ")
    if not protocol.startswith("HTTP/") or not status.startswith("2"):
        shown = status if protocol.startswith("HTTP/") else said
        raise OSError(f"the proxy {address.proxy} refused: {shown[:_SAID_MAX]}")
