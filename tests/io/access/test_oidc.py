"""OpenID Connect against a provider on loopback."""

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from myrmidon.errors import UnreachableError, UsageError
from myrmidon.io.access.kubeconfig import Endpoint, load_endpoint
from myrmidon.io.access.oidc import Oidc, end_of
from tests.cluster.controlplane.pki import Authority
from tests.io.access.test_kubeconfig import kubeconfig
from tests.io.fakes import FakeClock

LONG_AGO, ONE_DAY = datetime(2020, 1, 1, tzinfo=UTC), datetime(2099, 1, 1, tzinfo=UTC)


def token(ends: datetime, number: int = 0) -> str:
    """Build an id token; only the API server checks the signature."""
    claims = {"exp": int(ends.timestamp()), "sub": "ÿþ?>~", "number": number}
    parts = [json.dumps(part, ensure_ascii=False).encode() for part in ({"alg": "none"}, claims)]
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts) + ".x"


class Provider:
    """Issues id tokens for the refresh token r1, then for r2, and so on."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.authority = folder, Authority()
        self.ends = ONE_DAY
        self.gives_refresh_tokens = True
        self.takes_basic = True
        self.secret = "s/1"
        self.forms: list[dict[str, Any]] = []
        self.number = 1
        self.url = ""
        self.authority.write(folder / "idp.crt")
        self.authority.issue_server(folder / "idp-server", "idp")

    def settings(self, **more: str) -> dict[str, str]:
        """Return the settings that a kubeconfig needs."""
        found = {
            "client-id": "me",
            "client-secret": self.secret,
            "idp-issuer-url": f"{self.url}/realm/",
            "idp-certificate-authority": "idp.crt",
            "refresh-token": "r1",
            "id-token": token(LONG_AGO),
            **more,
        }
        return {key: value for key, value in found.items() if value}

    def kubeconfig(self, **more: str) -> Path:
        """Write a kubeconfig with these settings."""
        provider = {"name": "oidc", "config": self.settings(**more)}
        return kubeconfig(self.folder / "config", {"auth-provider": provider})

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve over TLS."""
        app = web.Application()
        app.router.add_get("/realm/.well-known/openid-configuration", self._discover)
        app.router.add_post("/token", self._refresh)
        runner = web.AppRunner(app)
        await runner.setup()
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        stem = self.folder / "idp-server"
        context.load_cert_chain(stem.with_suffix(".crt"), stem.with_suffix(".key"))
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        self.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield
        finally:
            await runner.cleanup()

    async def _discover(self, request: web.Request) -> web.Response:
        del request
        return web.json_response({"token_endpoint": f"{self.url}/token"})

    async def _refresh(self, request: web.Request) -> web.Response:
        form = dict(await request.post())
        basic = base64.b64encode(b"me:s%2F1").decode()
        self.forms.append(form)
        by_header = self.takes_basic and request.headers.get("authorization") == f"Basic {basic}"
        if not by_header and form.get("client_secret", "") != self.secret:
            return web.json_response({"error": "invalid_client"}, status=401)
        if not by_header and form.get("client_id") != "me":
            return web.json_response({"error": "invalid_client"}, status=401)
        if form["refresh_token"] != f"r{self.number}":
            error = {"error": "invalid_grant", "error_description": "Session not active"}
            return web.json_response(error, status=400)
        given = {"id_token": token(self.ends, self.number)}
        if self.gives_refresh_tokens:
            self.number += 1
            given["refresh_token"] = f"r{self.number}"
        return web.json_response(given)


@pytest.fixture
def provider(tmp_path: Path) -> Provider:
    """Return a provider that is not serving yet."""
    return Provider(tmp_path)


def play(provider: Provider, check: Callable[[], Awaitable[None]]) -> None:
    """Run a check beside the provider."""

    async def main() -> None:
        async with provider.serving():
            await check()

    asyncio.run(main())


async def loaded(path: Path) -> Endpoint:
    """Return the endpoint of a kubeconfig."""
    return await load_endpoint(path, environ={})


def saved(path: Path) -> dict[str, str]:
    """Return the settings in a file."""
    config = yaml.safe_load(path.read_text())
    found: dict[str, str] = config["users"][0]["user"]["auth-provider"]["config"]
    return found


def test_an_expired_token_is_replaced_in_the_kubeconfig(provider: Provider) -> None:
    """The refresh token as well: many providers accept one only once."""

    async def check() -> None:
        path = provider.kubeconfig()
        endpoint = await loaded(path)
        assert await endpoint.credentials.authorization(0.0) == f"Bearer {token(ONE_DAY, 1)}"
        assert saved(path) == provider.settings(
            **{"id-token": token(ONE_DAY, 1), "refresh-token": "r2"}
        )
        await loaded(path)
        assert len(provider.forms) == 1  # the new one is valid

    play(provider, check)


def test_a_token_that_is_refused_is_replaced(provider: Provider) -> None:
    """Once for all requests that are refused at the same time."""

    async def check() -> None:
        good = token(ONE_DAY)
        endpoint = await loaded(provider.kubeconfig(**{"id-token": good}))
        assert provider.forms == []
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(endpoint.credentials.renew(f"Bearer {good}")) for _ in range(9)
            ]
        assert all(task.result() for task in tasks)
        assert len(provider.forms) == 1

    play(provider, check)


def test_a_token_is_replaced_before_its_end(provider: Provider) -> None:
    """While the process runs; also if the provider returns no new refresh token."""
    clock = FakeClock()
    provider.gives_refresh_tokens = False

    async def check() -> None:
        settings = provider.settings(**{"id-token": token(clock.now() + timedelta(minutes=5))})
        oidc = Oidc(settings, folder=provider.folder, save=lambda: None, clock=clock)
        for minutes in (5, 10):
            clock.seconds = 60 * minutes - 31
            before = await oidc.authorization(clock.monotonic())
            provider.ends = clock.now() + timedelta(minutes=5, seconds=31)
            clock.seconds += 2
            assert await oidc.authorization(clock.monotonic()) != before
        assert [form["refresh_token"] for form in provider.forms] == ["r1", "r1"]

    play(provider, check)


@pytest.mark.parametrize(
    ("secret", "takes_basic", "asked"), [("s/1", True, 1), ("s/1", False, 2), ("", False, 1)]
)
def test_how_the_client_authenticates(
    provider: Provider, secret: str, takes_basic: bool, asked: int
) -> None:
    """In the header by default, in the form if a provider wants it, or without a secret."""
    provider.secret, provider.takes_basic = secret, takes_basic

    async def check() -> None:
        await loaded(provider.kubeconfig())
        assert len(provider.forms) == asked

    play(provider, check)


def test_a_provider_with_another_certificate_gets_nothing(provider: Provider) -> None:
    """Refresh tokens are valuable, so TLS is verified, with or without a CA."""

    async def check() -> None:
        with pytest.raises(UsageError, match="certificate verify failed"):
            await loaded(provider.kubeconfig(**{"idp-certificate-authority": ""}))
        assert provider.forms == []
        data = base64.b64encode((provider.folder / "idp.crt").read_bytes()).decode()
        more = {"idp-certificate-authority": "", "idp-certificate-authority-data": data}
        await loaded(provider.kubeconfig(**more))
        assert len(provider.forms) == 1

    play(provider, check)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"refresh-token": "r7"}, "it answered 400 invalid_grant Session not active"),
        (
            {"refresh-token": ""},
            "the id token has expired, and the kubeconfig has no refresh-token",
        ),
        ({"client-secret": "hunter2"}, "it answered 401 invalid_client"),
        ({"idp-issuer-url": ""}, "no idp-issuer-url"),
        ({"idp-issuer-url": "https://127.0.0.1:1"}, "https://127.0.0.1:1: connection refused"),
        ({"idp-certificate-authority": "no.crt"}, "its CA no.crt cannot be used: no such file"),
    ],
)
def test_errors_are_explained(provider: Provider, more: dict[str, str], message: str) -> None:
    """Without the secrets; the file stays as it is."""

    async def check() -> None:
        path = provider.kubeconfig(**more)
        before = path.read_text()
        with pytest.raises(UsageError, match=message) as caught:
            await loaded(path)
        assert "hunter2" not in str(caught.value)
        assert path.read_text() == before

    play(provider, check)


def test_a_read_only_kubeconfig_is_accepted(
    provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    """It is often mounted read-only in pods."""

    def save() -> None:
        raise PermissionError("read-only file system")

    async def check() -> None:
        oidc = Oidc(provider.settings(), folder=provider.folder, save=save)
        await oidc.load()
        assert oidc.header == f"Bearer {token(ONE_DAY, 1)}"

    play(provider, check)
    assert "only kept in memory: read-only" in caplog.text


def test_a_provider_that_fails_later(provider: Provider) -> None:
    """Nothing is sent then, and the next request tries again."""

    async def check() -> None:
        oidc = Oidc(provider.settings(), folder=provider.folder, save=lambda: None)
        oidc._settings["idp-issuer-url"] = "https://127.0.0.1:1"
        with pytest.raises(UnreachableError):
            await oidc.authorization(0.0)

    play(provider, check)


def test_tokens_without_a_readable_expiry() -> None:
    """They are sent, and the server decides."""
    assert end_of(token(ONE_DAY)) == ONE_DAY
    for text in ("", "opaque", "a.b.c", "a.e30.c", f"a.{'x' * 5}.c"):
        assert end_of(text) is None
