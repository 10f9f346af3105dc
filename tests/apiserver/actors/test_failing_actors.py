"""An exception in an actor: the client's write is stored and answered, the other actors work."""

import asyncio
import logging
from datetime import datetime
from urllib.parse import urlsplit

import pytest

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.actors import ServiceAccounts
from myrmidon.apiserver.actors.actor import ServerAccess
from myrmidon.apiserver.actors.followers import Follower
from myrmidon.apiserver.fronts.http import serve
from myrmidon.apiserver.server import ApiServer
from myrmidon.apiserver.store import StoredChange


class Broken:
    """An actor that always fails after the start."""

    def __init__(self) -> None:
        self.fails = False

    def observe(self, change: StoredChange) -> None:
        """Take no notes."""

    def act(self, server: ServerAccess) -> bool:
        """Fail."""
        if self.fails:
            raise KeyError("spec")
        return False

    def due(self) -> datetime | None:
        """Return None."""
        return None


class Forgetful(Follower):
    """A follower that fails at its first attempt on each object."""

    resource, kind, api_version = "configmaps", "ConfigMap", "v1"

    def __init__(self) -> None:
        super().__init__()
        self.tried: list[str] = []

    def reconcile(self, server: ServerAccess, obj: Json) -> None:
        """Fail once."""
        del server
        self.tried.append(obj["metadata"]["name"])
        if self.tried.count(obj["metadata"]["name"]) == 1:
            raise ValueError("not yet")


def config(name: str) -> Json:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def test_the_other_actors_work() -> None:
    """The exception is raised when all of them are done."""
    broken = Broken()
    server = ApiServer(actors=[broken, ServiceAccounts()])
    broken.fails = True
    server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
    with pytest.raises(KeyError):
        server.settle()

    assert server.store.get("serviceaccounts", "team/default") is not None


def test_a_follower_tries_again() -> None:
    """What it could not reconcile stays dirty, and so does what came after it."""
    follower = Forgetful()
    server = ApiServer(actors=[follower])
    for name in ("a", "b"):
        server.request("POST", "/api/v1/namespaces/default/configmaps", config(name))
    for _ in range(2):
        with pytest.raises(ValueError, match="not yet"):
            server.settle()
    server.settle()
    server.settle()

    assert follower.tried == ["a", "a", "b", "b"]


def test_the_client_gets_the_answer_to_its_write(caplog: pytest.LogCaptureFixture) -> None:
    """Not a 500 for a write that is stored; the log has the exception."""
    broken = Broken()
    server = ApiServer(actors=[broken])
    broken.fails = True
    body = b'{"metadata":{"name":"kept"}}'

    async def post() -> bytes:
        async with serve(server) as url:
            address = urlsplit(url)
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
            writer.write(
                b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nhost: localhost\r\n"
                b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
                % (len(body), body)
            )
            line = await reader.readline()
            writer.close()
            return line

    with caplog.at_level(logging.ERROR):
        line = asyncio.run(post())

    assert line == b"HTTP/1.1 201 Created\r\n"
    assert server.store.get("configmaps", "default/kept") is not None
    assert "an actor of the server failed" in caplog.text
