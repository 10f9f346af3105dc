"""The transport over sockets, against a server on loopback that misbehaves on demand."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from myrmidon.api.requests.transport import HttpRequest
from myrmidon.errors import AmbiguousError, UnreachableError, UsageError
from myrmidon.io.access.certificates import ssl_context
from myrmidon.io.access.credentials import Fixed
from myrmidon.io.access.kubeconfig import Endpoint, Tls
from myrmidon.io.http.transport import HttpTransport

GET = HttpRequest("GET", "/api", headers={"accept": "application/json"})
POST = HttpRequest("POST", "/api", body=b"{}", headers={"content-type": "application/json"})
Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(answering: Answering) -> AsyncIterator[str]:
    """Run a server for one test; yield its address."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answering)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def play(
    answering: Answering,
    check: Callable[[HttpTransport], Awaitable[None]],
    **options: Any,
) -> None:
    """Run a check on a transport to the server."""

    async def main() -> None:
        async with serving(answering) as address:
            transport = HttpTransport(Endpoint(address, **options))
            try:
                await check(transport)
            finally:
                await transport.close()

    asyncio.run(main())


def test_the_request_is_sent_as_given() -> None:
    """Method, path, query, body and headers, without additions."""
    seen: list[Any] = []

    async def answering(request: web.Request) -> web.Response:
        seen.append((request.method, request.raw_path, await request.read(), request.headers))
        return web.Response(body=b"{}", headers={"Warning": '299 - "x"'}, status=201)

    async def check(transport: HttpTransport) -> None:
        query = (("labelSelector", "a in (b,c)"), ("continue", "x+/="))
        headers = {"content-type": "application/json"}
        response = await transport.send(
            HttpRequest("POST", "/api/a%2Fb", query, headers, b'{"a":1}')
        )
        assert response.status == 201
        assert response.header("warning") == '299 - "x"'

    play(answering, check, credentials=Fixed("Bearer t"), headers=(("impersonate-user", "dev"),))
    method, path, body, headers = seen[0]
    assert (method, body) == ("POST", b'{"a":1}')
    assert path == "/api/a%2Fb?labelSelector=a%20in%20%28b%2Cc%29&continue=x%2B%2F%3D"
    assert headers["authorization"] == "Bearer t"
    assert headers["impersonate-user"] == "dev"
    assert "accept-encoding" not in headers
    assert "cookie" not in headers


def test_connections_are_used_again() -> None:
    """A TLS handshake per request would cost more than the request."""
    ports: dict[Any, None] = {}

    async def answering(request: web.Request) -> web.Response:
        assert request.transport is not None
        ports[request.transport.get_extra_info("peername")] = None
        return web.Response(body=b"{}")

    async def check(transport: HttpTransport) -> None:
        for _ in range(5):
            await transport.send(GET)

    play(answering, check)
    assert len(ports) == 1


def test_watches_leave_connections_for_requests() -> None:
    """Streams stay open for minutes and have a pool of their own."""

    async def answering(request: web.Request) -> web.StreamResponse:
        if request.method == "POST":
            return web.Response(body=b"{}")
        response = web.StreamResponse()
        await response.prepare(request)
        await asyncio.Event().wait()
        return response

    async def main() -> None:
        async with serving(answering) as address:
            transport = HttpTransport(Endpoint(address), connections_max=1)
            async with transport.stream(GET), transport.stream(GET):
                assert (await transport.send(POST)).status == 200
            await transport.close()

    asyncio.run(main())


def test_a_refused_connection_means_not_sent() -> None:
    """The request cannot have taken effect."""

    async def main() -> None:
        async with serving(wants_new) as address:
            pass
        for server in (address, "http://no-such-host.invalid"):
            transport = HttpTransport(Endpoint(server))
            with pytest.raises(UnreachableError):
                await transport.send(POST)
            with pytest.raises(UnreachableError):
                async with transport.stream(GET):
                    pass
            await transport.close()

    asyncio.run(main())


def test_a_response_timeout_is_ambiguous() -> None:
    """F09, F10: the deadline is over, but the request was sent."""

    async def answering(request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        return web.Response()

    async def check(transport: HttpTransport) -> None:
        with pytest.raises(AmbiguousError, match=r"no answer in 0\.05 s: POST /api"):
            await transport.send(POST, deadline=0.05)

    play(answering, check)


def test_a_connection_that_breaks_before_the_response_is_ambiguous() -> None:
    """F09."""

    async def answering(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async def check(transport: HttpTransport) -> None:
        with pytest.raises(AmbiguousError):
            await transport.send(POST)

    play(answering, check)


async def cut_off(request: web.Request) -> web.StreamResponse:
    """Begin a response and drop the connection."""
    response = web.StreamResponse()
    if request.method == "POST":
        response.content_length = 1000
    await response.prepare(request)
    await response.write(b'{"a":1}\n{"b":2}\n{"c"')
    await asyncio.sleep(0.02)  # noqa: TID251  lets the bytes leave
    assert request.transport is not None
    request.transport.abort()
    return response


def test_a_truncated_response_is_ambiguous() -> None:
    """F11: half an object is never returned as an object."""

    async def check(transport: HttpTransport) -> None:
        with pytest.raises(AmbiguousError):
            await transport.send(POST)

    play(cut_off, check)


def test_a_truncated_watch_yields_whole_lines_only() -> None:
    """F11: then it raises."""
    seen: list[bytes] = []

    async def check(transport: HttpTransport) -> None:
        async with transport.stream(GET) as stream:
            lines = stream.lines()
            seen.append(await anext(lines))
            seen.append(await anext(lines))
            with pytest.raises(AmbiguousError):
                await anext(lines)

    play(cut_off, check)
    assert seen == [b'{"a":1}', b'{"b":2}']


def test_lines_come_whole_however_they_are_cut() -> None:
    """Lines longer than any buffer, several at once; a last one without line end is dropped."""
    long = b"x" * 3_000_000

    async def answering(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in (b"a\nb\nc", b"d\n", long, b"\n", b"half"):
            await response.write(chunk)
        return response

    seen: list[bytes] = []

    async def check(transport: HttpTransport) -> None:
        async with transport.stream(GET) as stream:
            seen.extend([line async for line in stream.lines()])

    play(answering, check)
    assert seen == [b"a", b"b", b"cd", long]


@pytest.mark.parametrize("how", ["stalls", "is cut off", "never ends"])
def test_a_refused_watch_is_reported_whatever_becomes_of_its_body(
    monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """K8: the status is known; a body that stalls must not hold up the reflector."""
    monkeypatch.setattr("myrmidon.io.http.transport._REFUSAL_SECONDS_MAX", 0.05)
    monkeypatch.setattr("myrmidon.io.http.transport._REFUSAL_BYTES_MAX", 1000)

    async def answering(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=410)
        await response.prepare(request)
        await response.write(b'{"kind":')
        while how == "never ends":
            await response.write(bytes(100))
        if how == "stalls":
            await asyncio.Event().wait()
        await asyncio.sleep(0.02)  # noqa: TID251  lets the bytes leave
        assert request.transport is not None
        request.transport.abort()
        return response

    async def check(transport: HttpTransport) -> None:
        async with transport.stream(GET) as stream:
            assert stream.status == 410
            assert (await stream.read()).startswith(b'{"kind":')
            assert await stream.read() == b""

    play(answering, check)


def test_credentials_of_a_watch_have_a_time_limit() -> None:
    """K8: the exec plugin may hang."""

    class Hanging(Fixed):
        async def authorization(self, now: float) -> str:
            await asyncio.Event().wait()
            return ""

    async def main() -> None:
        endpoint = Endpoint("http://127.0.0.1:1", credentials=Hanging())
        transport = HttpTransport(endpoint, deadline_seconds=0.05)
        with pytest.raises(AmbiguousError, match=r"no answer in 0\.05 s"):
            async with transport.stream(GET):
                pass
        with pytest.raises(AmbiguousError, match=r"no answer in 0\.05 s"):
            await transport.send(GET)

    asyncio.run(main())


class Rotating:
    """Credentials whose first token is refused."""

    certificate = None

    def __init__(self, *tokens: str) -> None:
        self.tokens = list(tokens)
        self.renewed = 0

    async def authorization(self, now: float) -> str:
        """The token."""
        return self.tokens[0]

    async def renew(self, refused: str) -> bool:
        """The next one."""
        self.renewed += 1
        if len(self.tokens) == 1:
            return False
        self.tokens.pop(0)
        return True


async def wants_new(request: web.Request) -> web.Response:
    """Accept the second token."""
    if request.headers["authorization"] == "new":
        return web.Response(body=b"{}\n")
    return web.Response(status=401, body=b"{}")


def test_a_refused_token_is_renewed_once() -> None:
    """The request is repeated once, for requests and for streams."""

    async def check(transport: HttpTransport) -> None:
        assert (await transport.send(POST)).status == 200

    async def check_stream(transport: HttpTransport) -> None:
        async with transport.stream(GET) as stream:
            assert stream.status == 200

    play(wants_new, check, credentials=Rotating("old", "new"))
    play(wants_new, check_stream, credentials=Rotating("old", "new"))


def test_a_token_that_stays_refused_is_reported() -> None:
    """A second 401 is returned; there is no endless retry."""
    credentials = Rotating("old", "older", "oldest")

    async def check(transport: HttpTransport) -> None:
        assert (await transport.send(POST)).status == 401

    play(wants_new, check, credentials=credentials)
    assert credentials.renewed == 1


def test_requests_go_through_a_proxy_if_one_is_set() -> None:
    """The proxy gets the absolute form of the address, and the server no request."""
    seen: list[str] = []

    async def answering(request: web.Request) -> web.Response:
        seen.append(request.raw_path)
        return web.Response(body=b"{}")

    async def main() -> None:
        async with serving(answering) as proxy:
            transport = HttpTransport(Endpoint("http://cluster.invalid", proxy=proxy))
            assert (await transport.send(GET)).status == 200
            await transport.close()

    asyncio.run(main())
    assert seen == ["http://cluster.invalid:80/api"]


def test_certificates_that_cannot_be_read_are_a_wrong_setting() -> None:
    """The error is one sentence that names the file."""
    with pytest.raises(UsageError, match=r"nowhere\.crt"):
        ssl_context(Tls(ca_file="/nowhere.crt"))
