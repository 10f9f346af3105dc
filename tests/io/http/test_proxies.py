"""Proxies before the server, and servers below a path."""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from myrmidon.api.requests.transport import HttpRequest
from myrmidon.errors import TransportError, UnreachableError, UsageError
from myrmidon.io.access.kubeconfig import Endpoint, load_endpoint
from myrmidon.io.http.transport import HttpTransport
from tests.io.access.test_kubeconfig import kubeconfig, load
from tests.io.http.connect_proxy import ConnectProxy
from tests.io.http.test_transport import serving
from tests.io.http.tls import Guarded

GET = HttpRequest("GET", "/api")
POST = HttpRequest("POST", "/api", body=b"{}")


def play(
    folder: Path,
    proxy: ConnectProxy,
    check: Callable[[HttpTransport, Guarded], Awaitable[None]],
    login: str = "",
    **cluster: Any,
) -> None:
    """Run a check on a server with TLS behind a proxy, both from a kubeconfig."""
    server = Guarded(folder)
    server.authority.issue_client(folder / "me", "ann")
    user = {"client-certificate": "me.crt", "client-key": "me.key"}

    async def main() -> None:
        async with server.serving(), proxy.serving():
            place = {
                "server": server.url,
                "certificate-authority": "ca.crt",
                "proxy-url": proxy.url.replace("http://", f"http://{login}"),
                **cluster,
            }
            path = kubeconfig(folder / "config", user, **place)
            transport = HttpTransport(await load_endpoint(path, environ={}))
            try:
                await check(transport, server)
            finally:
                await transport.close()

    asyncio.run(main())


def test_tls_goes_through_a_proxy(tmp_path: Path) -> None:
    """The proxy sees only an address; the server sees our certificate."""
    proxy = ConnectProxy()

    async def check(transport: HttpTransport, server: Guarded) -> None:
        for _ in range(3):
            assert json.loads((await transport.send(POST)).body) == {"user": "ann"}
        async with transport.stream(GET) as stream:
            assert [line async for line in stream.lines()] == [b'{"user": "ann"}']
        target = server.url.removeprefix("https://")
        assert proxy.asked == [f"CONNECT {target}"] * 2  # requests share a connection

    play(tmp_path, proxy, check)


def test_tls_server_name(tmp_path: Path) -> None:
    """It is compared with the certificate instead of the address."""
    proxy = ConnectProxy()

    async def good(transport: HttpTransport, server: Guarded) -> None:
        del server
        assert (await transport.send(POST)).status == 200

    async def bad(transport: HttpTransport, server: Guarded) -> None:
        del server
        for request in (GET, POST):
            with pytest.raises(UnreachableError, match="certificate"):
                await transport.send(request)

    play(tmp_path, proxy, good, **{"tls-server-name": "kubernetes.default.svc"})
    play(tmp_path, proxy, bad, **{"tls-server-name": "example.org"})


def test_a_proxy_with_a_password(tmp_path: Path) -> None:
    """It is part of the proxy's address; the server does not see it."""
    proxy = ConnectProxy()

    async def check(transport: HttpTransport, server: Guarded) -> None:
        assert (await transport.send(POST)).status == 200
        assert proxy.logins == ["basic dxnlcjpwyxnz"]  # user:pass, in the case of the proxy
        assert "proxy-authorization" not in {name.lower() for name in server.headers[0]}

    play(tmp_path, proxy, check, login="user:pass@")


def test_a_proxy_that_refuses_means_not_sent(tmp_path: Path) -> None:
    """For any reason; the request can be retried."""
    proxy = ConnectProxy(refuses="403 Forbidden")

    async def check(transport: HttpTransport, server: Guarded) -> None:
        with pytest.raises(UnreachableError, match="403"):
            await transport.send(POST)
        with pytest.raises(UnreachableError, match="403"):
            async with transport.stream(GET):
                pass
        assert server.headers == []
        proxy.refuses = ""
        assert (await transport.send(POST)).status == 200

    play(tmp_path, proxy, check)


@pytest.mark.parametrize(
    ("refuses", "said"),
    [
        ("in silence", "the proxy closed the connection"),
        ("200 OK\r\n\r\nSSH-2.0", "more than an answer to CONNECT"),
        ("407 Proxy Authentication Required", "refused: 407"),
    ],
)
def test_invalid_responses_of_a_proxy(tmp_path: Path, refuses: str, said: str) -> None:
    """Each has a short message, and nothing was sent."""
    proxy = ConnectProxy(refuses=refuses)

    async def check(transport: HttpTransport, server: Guarded) -> None:
        with pytest.raises(UnreachableError, match=said):
            await transport.send(POST)
        assert server.headers == []

    play(tmp_path, proxy, check)


def test_a_proxy_that_speaks_tls_itself(tmp_path: Path) -> None:
    """TLS to the server inside TLS to the proxy."""
    server = Guarded(tmp_path)
    server.authority.issue_client(tmp_path / "me", "ann")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    proxy = ConnectProxy(tls=context)

    async def main() -> None:
        async with server.serving(), proxy.serving():
            endpoint = Endpoint(server.url, tls=server.tls, proxy=proxy.url)
            transport = HttpTransport(endpoint)
            large = HttpRequest("POST", "/api", body=bytes(1_000_000))
            for request in (POST, large, GET):
                assert json.loads((await transport.send(request)).body) == {"user": "ann"}
            async with transport.stream(GET) as stream:
                assert [line async for line in stream.lines()] == [b'{"user": "ann"}']
            await transport.close()

    asyncio.run(main())
    assert len(proxy.asked) == 2


def test_a_proxy_that_breaks_is_connected_to_again(tmp_path: Path) -> None:
    """The next request, at the latest, opens a new connection."""
    proxy = ConnectProxy()

    async def check(transport: HttpTransport, server: Guarded) -> None:
        del server
        assert (await transport.send(POST)).status == 200
        proxy.cut()
        try:
            await transport.send(POST)
        except TransportError:
            assert (await transport.send(POST)).status == 200

    play(tmp_path, proxy, check)


def test_a_proxy_of_an_unsupported_kind_is_a_wrong_setting(tmp_path: Path) -> None:
    """SOCKS is refused when it is loaded, not with every request."""
    path = kubeconfig(tmp_path / "k", {"token": "t"}, **{"proxy-url": "socks5://proxy:1080"})
    with pytest.raises(UsageError, match=r"socks5://proxy:1080.*\n  fix: .*http://"):
        load(path)


@pytest.mark.parametrize("prefix", ["/k8s/clusters/c-x7k2", "/k8s/clusters/c-x7k2/", "/a%2Fb"])
def test_a_server_behind_a_path(tmp_path: Path, prefix: str) -> None:
    """As with Rancher: requests and streams go below the path."""
    seen: list[str] = []

    async def answering(request: web.Request) -> web.Response:
        seen.append(request.raw_path)
        return web.Response(body=b"{}\n")

    async def main() -> None:
        async with serving(answering) as address:
            path = kubeconfig(tmp_path / "k", {"token": "t"}, server=address + prefix)
            endpoint = await load_endpoint(path, environ={})
            assert endpoint.host == address.removeprefix("http://")
            transport = HttpTransport(endpoint)
            await transport.send(POST)
            query = (("watch", "true"),)
            async with transport.stream(HttpRequest("GET", "/api/v1/pods", query)) as stream:
                assert [line async for line in stream.lines()] == [b"{}"]
            await transport.close()

    asyncio.run(main())
    below = prefix.rstrip("/")
    assert seen == [f"{below}/api", f"{below}/api/v1/pods?watch=true"]
