"""Headers and ends of bodies over sockets: the same from ``myrmidon server`` and the real one."""

import ssl
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.apiserver.clients.commands import server
from tests.cluster.controlplane.controlplane import ADMIN_TOKEN, ControlPlane

HEADERS = ("audit-id", "cache-control", "content-encoding", "content-type", "vary", "warning")
BIG = {"metadata": {"name": "http-details"}, "data": {"text": "x" * 200_000}}
CONFIG = "/api/v1/namespaces/default/configmaps"
PROTOBUF = "application/vnd.kubernetes.protobuf"


@pytest.fixture(scope="module")
def connections(
    controlplane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[HTTPConnection]]:
    """A connection to each, with a large object in both."""
    folder: Path = tmp_path_factory.mktemp("served")
    context = ssl.create_default_context(cafile=controlplane.ca)
    with server(folder, "--token", ADMIN_TOKEN) as served:
        address = urlsplit(served.url)
        opened: list[HTTPConnection] = [
            HTTPSConnection("127.0.0.1", controlplane.port, context=context),
            HTTPConnection(str(address.hostname), address.port),
        ]
        for each in opened:
            ask(each, "POST", CONFIG, str(BIG).replace("'", '"'))
        yield opened
        for each in opened:
            ask(each, "DELETE", f"{CONFIG}/http-details")
            each.close()


def ask(
    connection: HTTPConnection, method: str, path: str, body: str | None = None, **headers: str
) -> tuple[int, dict[str, str | None], bytes]:
    """Return the status, the headers that matter, and how the body ends."""
    sent = {
        "Authorization": f"Bearer {ADMIN_TOKEN}",
        "Audit-ID": "details",
        "Content-Type": "application/json",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    connection.request(method, path, body, sent)
    answer = connection.getresponse()
    read = answer.read()
    end = b"" if answer.getheader("content-encoding") else read[-1:]
    return answer.status, {name: answer.getheader(name) for name in HEADERS}, end


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/api/v1/namespaces/default", {}),
        ("GET", "/api/v1/namespaces/default", {"Accept": "application/yaml"}),
        ("GET", "/api/v1/namespaces/default", {"Accept": PROTOBUF}),
        ("GET", "/api/v1/namespaces/nope", {}),
        ("GET", "/api/v1/nope", {}),
        ("GET", "/nope", {}),
        ("GET", "/api", {}),
        ("GET", "/apis", {}),
        ("GET", "/version", {}),
        ("GET", "/healthz", {}),
        ("GET", "/openapi/v3", {}),
        ("GET", f"{CONFIG}/http-details", {}),
        ("GET", f"{CONFIG}/http-details", {"Accept_Encoding": "gzip"}),
        ("GET", f"{CONFIG}/http-details", {"Accept_Encoding": "deflate, gzip"}),
        ("GET", "/api/v1/namespaces/default", {"Accept_Encoding": "gzip"}),
        ("GET", "/api/v1/namespaces?watch=1&timeoutSeconds=1", {}),
        ("GET", "/api/v1/namespaces?watch=1&timeoutSeconds=1", {"Accept": PROTOBUF}),
        ("GET", "/.well-known/openid-configuration", {}),
        ("GET", "/openid/v1/jwks", {}),
        ("GET", "/api", {"Authorization": "Bearer wrong"}),
        ("HEAD", "/api/v1/namespaces/default", {}),
    ],
    ids=str,
)
def test_a_response(
    connections: list[HTTPConnection], method: str, path: str, headers: dict[str, str]
) -> None:
    """Status, headers, and whether the body ends with a newline."""
    theirs, ours = (ask(each, method, path, **headers) for each in connections)

    assert ours == theirs
