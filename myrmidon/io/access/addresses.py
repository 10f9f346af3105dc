"""Addresses of the API server and of the proxy in front of it, parsed from URLs."""

import base64
import ssl
from typing import NamedTuple, Self
from urllib.parse import unquote, urlsplit


class Proxy(NamedTuple):
    """An HTTP proxy.  ``authorization`` is the value of its Proxy-Authorization header."""

    host: str
    port: int
    is_tls: bool = False
    authorization: str = ""

    @classmethod
    def of(cls, url: str) -> Self:
        """Parse ``http://user:password@host:port``."""
        place = urlsplit(url)
        is_tls = place.scheme == "https"
        return cls(
            place.hostname or "",
            place.port or (443 if is_tls else 80),
            is_tls,
            basic_authorization(place.username, place.password),
        )

    def __str__(self) -> str:
        return _with_port(self.host, self.port)

    def __repr__(self) -> str:
        return f"Proxy({self})"


class Address(NamedTuple):
    """Where an API server is.  ``server_name`` is the name in its certificate, if not ``host``."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    server_name: str = ""
    proxy: Proxy | None = None

    @classmethod
    def of(
        cls,
        origin: str,
        tls: ssl.SSLContext | None,
        server_name: str = "",
        proxy: str | None = None,
    ) -> Self:
        """Parse ``https://host:port``."""
        place = urlsplit(origin)
        port = place.port or (443 if place.scheme == "https" else 80)
        through = Proxy.of(proxy) if proxy else None
        return cls(place.hostname or "", port, tls, server_name, through)

    def __str__(self) -> str:
        return _with_port(self.host, self.port)


def basic_authorization(username: str | None, password: str | None) -> str:
    """Return the user and password of a URL as a Basic header value, ``""`` if it has neither."""
    if username is None and password is None:
        return ""
    pair = f"{unquote(username or '')}:{unquote(password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _with_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
