"""Every kind of credentials in a kubeconfig, on a real server, which returns the user it sees."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from myrmidon.api.requests.transport import HttpRequest
from myrmidon.io.access.kubeconfig import load_endpoint
from myrmidon.io.http.transport import HttpTransport
from tests.cluster.controlplane.controlplane import ADMIN_TOKEN, DEV_TOKEN, ControlPlane
from tests.io.http.connect_proxy import ConnectProxy

REVIEW = HttpRequest(
    "POST",
    "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    headers={"content-type": "application/json"},
    body=b'{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}',
)
WATCH = HttpRequest("GET", "/api/v1/namespaces", query=(("watch", "true"), ("timeoutSeconds", "1")))


async def user_of(transport: HttpTransport) -> dict[str, Any]:
    """Return the user that the server sees."""
    answer = await transport.send(REVIEW)
    body: dict[str, Any] = json.loads(answer.body)
    assert answer.status == 201, body
    found: dict[str, Any] = body["status"]["userInfo"]
    return found


async def name_of(transport: HttpTransport) -> str:
    """Return the name of the user that the server sees."""
    return str((await user_of(transport))["username"])


async def status_of(transport: HttpTransport) -> int:
    """Return the status of a watch, which must use the same credentials."""
    async with transport.stream(WATCH) as stream:
        return stream.status


class Entrance:
    """A kubeconfig in a folder of its own."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.plane, self.folder = plane, folder
        self.cluster: dict[str, Any] = {
            "server": plane.url,
            "certificate-authority": str(plane.ca),
        }

    def certificate(self, *who: str, expires: timedelta = timedelta(days=1)) -> None:
        """Put a certificate into the folder."""
        self.plane.authority.issue_client(self.folder / "me", *who, expires=expires)

    def enter(
        self, user: dict[str, Any], check: Callable[[HttpTransport], Awaitable[None]]
    ) -> None:
        """Run a check as this user of a kubeconfig."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": self.cluster}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "c",
        }
        path = self.folder / "config"
        path.write_text(yaml.safe_dump(config))

        async def main() -> None:
            transport = HttpTransport(await load_endpoint(path, environ={}))
            try:
                await check(transport)
            finally:
                await transport.close()

        asyncio.run(main())


@pytest.fixture
def entrance(controlplane: ControlPlane, tmp_path: Path) -> Entrance:
    """Return a folder for a kubeconfig."""
    return Entrance(controlplane, tmp_path)


FILES = {"client-certificate": "me.crt", "client-key": "me.key"}


def test_a_certificate(entrance: Entrance) -> None:
    """Its name is the user, its organizations are the groups."""
    entrance.certificate("ann", "devs", "system:masters")

    async def check(transport: HttpTransport) -> None:
        user = await user_of(transport)
        assert user["username"] == "ann"
        assert set(user["groups"]) >= {"devs", "system:masters"}
        assert await status_of(transport) == 200

    entrance.enter(FILES, check)


def test_a_certificate_that_has_expired_is_replaced(entrance: Entrance) -> None:
    """Refused with 401 until there is a new one on disk."""
    entrance.certificate("ann", "system:masters", expires=timedelta(hours=-1))

    async def check(transport: HttpTransport) -> None:
        assert (await transport.send(REVIEW)).status == 401
        assert await status_of(transport) == 401
        entrance.certificate("ann", "system:masters")
        assert await status_of(transport) == 200
        assert await name_of(transport) == "ann"

    entrance.enter(FILES, check)


def plugin(folder: Path, **status: str) -> dict[str, Any]:
    """Return an exec plugin that prints a file."""
    give(folder, **status)
    version = "client.authentication.k8s.io/v1"
    words = ["-c", f"print(open({str(folder / 'given')!r}).read())"]
    return {"exec": {"apiVersion": version, "command": sys.executable, "args": words}}


def give(folder: Path, **status: str) -> None:
    """Change what the plugin prints."""
    version = "client.authentication.k8s.io/v1"
    given = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    (folder / "given").write_text(json.dumps(given))


@pytest.mark.parametrize("ends", ["", "2126-01-01T00:00:00Z", "2006-01-01T00:00:00Z"])
def test_a_plugin_whose_token_is_refused(entrance: Entrance, ends: str) -> None:
    """It is run again, whatever expiry it printed."""
    more = {"expirationTimestamp": ends} if ends else {}

    async def check(transport: HttpTransport) -> None:
        assert (await transport.send(REVIEW)).status == 401
        give(entrance.folder, token=DEV_TOKEN, **more)
        assert await name_of(transport) == "dev"
        assert await status_of(transport) == 403

    entrance.enter(plugin(entrance.folder, token="unknown", **more), check)


def test_a_plugin_that_gives_certificates(entrance: Entrance) -> None:
    """A program that issues them; the first has expired."""

    def issued(**times: timedelta) -> dict[str, str]:
        entrance.certificate("ann", "system:masters", **times)
        names = {"clientCertificateData": "me.crt", "clientKeyData": "me.key"}
        return {key: (entrance.folder / name).read_text() for key, name in names.items()}

    async def check(transport: HttpTransport) -> None:
        assert (await transport.send(REVIEW)).status == 401
        give(entrance.folder, **issued())
        assert await name_of(transport) == "ann"
        assert await status_of(transport) == 200

    entrance.enter(plugin(entrance.folder, **issued(expires=timedelta(hours=-1))), check)


def test_impersonation_with_groups_uid_and_extra_fields(entrance: Entrance) -> None:
    """Every group, the uid, and extra fields with keys that are not allowed in headers."""
    extra = {"example.org/scopes": ["view", "edit"], "team": ["a"]}
    user = {
        "token": ADMIN_TOKEN,
        "as": "ann",
        "as-uid": "7",
        "as-groups": ["devs", "ops"],
        "as-user-extra": extra,
    }

    async def check(transport: HttpTransport) -> None:
        found = await user_of(transport)
        assert (found["username"], found["uid"], found["extra"]) == ("ann", "7", extra)
        assert {"devs", "ops"} <= set(found["groups"])
        assert await status_of(transport) == 403  # ann may not read namespaces

    entrance.enter(user, check)


def test_a_proxy_and_a_name_for_tls(entrance: Entrance) -> None:
    """CONNECT, then TLS with the server itself, which sees our certificate."""
    entrance.certificate("ann", "system:masters")
    entrance.cluster["tls-server-name"] = "kubernetes.default.svc"
    proxy = ConnectProxy()

    async def main() -> None:
        async with proxy.serving():
            entrance.cluster["proxy-url"] = proxy.url
            await asyncio.to_thread(entrance.enter, FILES, check)

    async def check(transport: HttpTransport) -> None:
        assert await name_of(transport) == "ann"
        assert await status_of(transport) == 200

    asyncio.run(main())
    assert set(proxy.asked) == {f"CONNECT 127.0.0.1:{entrance.plane.port}"}
