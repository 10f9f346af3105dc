"""Webhooks over HTTPS: served before leading, trusted by the API server, with certificates that change."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from myrmidon import ManagerOptions, WebhookOptions, kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.apiserver import ApiServer, LocalTransport
from myrmidon.errors import InvalidError, NotFoundError, UsageError
from myrmidon.generate.manifests.layout import definitions_of
from myrmidon.io.client import Client
from myrmidon.io.timers.clock import LoopClock
from myrmidon.runtime import Manager
from myrmidon.runtime.webhooks import authority
from myrmidon.runtime.webhooks.rotation import CertificateTerms, RotationStep
from myrmidon.runtime.webhooks.tls import CertificatePair, load_pair, server_context, trust_problem
from tests.runtime.webhooks.test_in_process import ConfigMapRules, Shop, Shops, config_map

NAMES = ("localhost", "127.0.0.1")


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def pem(names: tuple[str, ...] = NAMES) -> dict[str, bytes]:
    """Return an authority and a certificate."""
    now = LoopClock().now()
    return authority.carried_out(RotationStep.CREATE, {}, now, names, CertificateTerms())


@asynccontextmanager
async def running(manager: Manager, ready: Callable[[], bool]) -> AsyncIterator[None]:
    """Run a manager until the block is left."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(manager.run())
        while not ready():
            assert not task.done(), task
            await asyncio.sleep(0.01)  # noqa: TID251 - a real server
        try:
            yield
        finally:
            manager.stop()


def served(manager: Manager) -> bool:
    """Whether the API server trusts the webhooks of a manager."""
    return manager.checks().get("webhooks", "not yet") is None


def test_a_process_outside_the_cluster_serves_its_webhooks_by_url() -> None:
    """It installs the configurations with its own CA, and deletes them at its end."""
    url = f"https://127.0.0.1:{free_port()}"
    server = ApiServer()
    for definition in definitions_of([Shops]):
        assert not server.create(definition)

    async def scenario() -> Json:
        options = ManagerOptions(
            webhooks=WebhookOptions(addr=url.removeprefix("https://"), url=url)
        )
        manager = Manager(options, transport=LocalTransport(server))
        manager.add(Shops())
        manager.add(ConfigMapRules())
        client = Client(LocalTransport(server))
        async with running(manager, lambda: served(manager)):
            made = await client.create(kinds.CONFIG_MAP, in_default(config_map("a", b="c")))
            bad = Shop(name="corner", spec={"image": "shop:latest"}).to_json()
            with pytest.raises(InvalidError, match="must name a version"):
                await client.create(Shop.KIND, in_default(bad))
        for kind in (
            kinds.VALIDATING_WEBHOOK_CONFIGURATION,
            kinds.MUTATING_WEBHOOK_CONFIGURATION,
        ):
            with pytest.raises(NotFoundError):
                await client.get(ObjectRef(kind, "myrmidon"))
        return made

    assert asyncio.run(scenario())["metadata"]["labels"] == {"by": "webhook"}


def in_default(obj: Json) -> Json:
    """Return the object in the namespace default."""
    return {**obj, "metadata": {**obj["metadata"], "namespace": "default"}}


@pytest.mark.law("H3")
def test_files_are_read_again_when_they_change(tmp_path: Path) -> None:
    """Hot reload: the next connection gets the new certificate, no request fails."""
    first, second = pem(), pem()
    port = free_port()

    def write(data: dict[str, bytes]) -> None:
        for name in ("tls.crt", "tls.key"):
            (tmp_path / name).write_bytes(data[name])

    async def scenario() -> list[int]:
        write(first)
        options = ManagerOptions(
            webhooks=WebhookOptions(
                addr=f"127.0.0.1:{port}",
                certificates=str(tmp_path),
                poll=timedelta(milliseconds=10),
            )
        )
        manager = Manager(options, transport=LocalTransport(ApiServer()))
        manager.handlers["/convert"] = converted
        statuses = []
        async with running(manager, lambda: served(manager)):
            statuses.append(await posted(port, "/convert", first))
            write(second)
            await eventually(lambda: is_trusted(port, second))
            statuses.append(await posted(port, "/convert", second))
            statuses.append(await posted(port, "/nothing", second))
            statuses.append(await posted(port, "/convert", second, b"{"))
        return statuses

    assert asyncio.run(scenario()) == [200, 200, 404, 400]


async def converted(review: Json) -> Json:
    """Return what was sent, as a handler beside the validators does."""
    return review


async def posted(port: int, path: str, trusted: dict[str, bytes], body: bytes = b"{}") -> int:
    """Return the status of a request over a new connection."""
    context = ssl.create_default_context(cadata=trusted["ca.crt"].decode())
    url = f"https://127.0.0.1:{port}{path}"
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=body, ssl=context) as answer,
    ):
        return answer.status


async def is_trusted(port: int, trusted: dict[str, bytes]) -> bool:
    """Whether a client with this CA accepts the server."""
    try:
        await posted(port, "/convert", trusted)
    except aiohttp.ClientConnectorCertificateError:
        return False
    return True


async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait until it holds; the time limit of the test is the limit."""
    while not await holds():  # noqa: ASYNC110 - another process tells no event
        await asyncio.sleep(0.01)  # noqa: TID251 - a real server


@pytest.mark.law("H3")
def test_a_file_that_is_missing_keeps_the_process_from_being_ready(tmp_path: Path) -> None:
    """Until it is mounted; the process does not end."""

    async def scenario() -> Any:
        options = ManagerOptions(
            webhooks=WebhookOptions(addr="127.0.0.1:0", certificates=str(tmp_path))
        )
        manager = Manager(options, transport=LocalTransport(ApiServer()))
        manager.add(ConfigMapRules())

        def problem() -> str | None:
            return manager.checks().get("webhooks")

        async with running(manager, lambda: "mount the Secret" in str(problem())):
            return problem()

    assert "mount the Secret" in str(asyncio.run(scenario()))


def test_a_port_in_use_is_one_sentence() -> None:
    """Not a traceback."""

    async def scenario() -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            manager = Manager(
                ManagerOptions(webhooks=WebhookOptions(addr=address)),
                transport=LocalTransport(ApiServer()),
            )
            manager.add(ConfigMapRules())
            await manager.run()

    with pytest.raises(UsageError, match="cannot serve webhooks on"):
        asyncio.run(scenario())


@pytest.mark.law("H3")
def test_a_certificate_is_checked_as_the_api_server_checks_it() -> None:
    """Chain, host name and bundle, without a connection."""
    data, other = pem(), pem()
    context = server_context()
    load_pair(context, CertificatePair(data["tls.crt"], data["tls.key"]))

    assert trust_problem(context, data["ca.crt"], "localhost") is None
    assert trust_problem(context, other["ca.crt"] + data["ca.crt"], "127.0.0.1") is None
    assert "not trusted" in str(trust_problem(context, other["ca.crt"], "localhost"))
    assert "not trusted" in str(trust_problem(context, data["ca.crt"], "example.com"))
    assert "cannot be read" in str(trust_problem(context, b"", "localhost"))
    assert trust_problem(server_context(), data["ca.crt"], "localhost")


@pytest.mark.law("H3")
def test_a_pair_that_does_not_fit_leaves_the_old_one_in_use() -> None:
    """A Secret that was written in part must not take the webhook down."""
    data, other = pem(), pem()
    context = server_context()
    load_pair(context, CertificatePair(data["tls.crt"], data["tls.key"]))

    with pytest.raises(ssl.SSLError):
        load_pair(context, CertificatePair(data["tls.crt"], other["tls.key"]))

    assert trust_problem(context, data["ca.crt"], "localhost") is None
