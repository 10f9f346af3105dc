"""Webhooks on a real API server: validation, defaults, and certificates that rotate under load."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from myrmidon import Manager, ManagerOptions, WebhookOptions, kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import ForbiddenError, InvalidError, NotFoundError
from myrmidon.generate.manifests.layout import definitions_of
from myrmidon.io.access.kubeconfig import load_endpoint
from myrmidon.io.client import Client
from myrmidon.io.http.transport import HttpTransport
from myrmidon.runtime.webhooks.rotation import CertificateTerms
from tests.runtime.webhooks.test_in_process import ConfigMapRules, Shop, Shops, shop

_SHORT = CertificateTerms(
    authority=timedelta(seconds=12),
    serving=timedelta(seconds=12),
    propagation=timedelta(seconds=1),
    overlap=timedelta(seconds=2),
)


def webhook_options(**more: Any) -> WebhookOptions:
    """Return options for a process that the API server reaches at a free port."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{found.getsockname()[1]}"
    return WebhookOptions(addr=address, url=f"https://{address}", name="shops", **more)


@asynccontextmanager
async def serving(kubeconfig: Path, options: WebhookOptions) -> AsyncIterator[Client]:
    """Run the program with its webhooks; yield a client of the cluster's administrator."""
    async with AsyncExitStack() as stack:
        transport = HttpTransport(await load_endpoint(str(kubeconfig), None))
        stack.push_async_callback(transport.close)
        settings = ManagerOptions(
            kubeconfig=str(kubeconfig), webhooks=options, install_crds=True, seed=0
        )
        manager = Manager(settings, definitions=definitions_of([Shops]))
        manager.add(Shops())
        manager.add(ConfigMapRules())
        group = await stack.enter_async_context(asyncio.TaskGroup())
        task = group.create_task(manager.run())
        stack.callback(manager.stop)
        async with asyncio.timeout(60):
            while manager.checks().get("webhooks", "") is not None or not manager.is_idle:
                assert not task.done()
                await asyncio.sleep(0.05)  # noqa: TID251 - a real server
        client = Client(transport)
        try:
            yield client
        finally:
            name = f"{Shop.KIND.plural}.{Shop.KIND.group}"
            await client.delete(ObjectRef(kinds.CUSTOM_RESOURCE_DEFINITION, name))


def in_namespace(namespace: str, **spec: Any) -> Json:
    """Return a shop in a namespace."""
    made = shop(**spec).to_json()
    made["metadata"]["namespace"] = namespace
    return made


def test_create_update_delete_and_dry_run_meet_validation_and_defaults(
    kubeconfig: Path, namespace: str
) -> None:
    """Own and foreign kinds, the test's writes and those of the controller."""

    async def scenario() -> None:
        async with serving(kubeconfig, webhook_options()) as client:
            with pytest.raises(InvalidError) as refused:
                await client.create(Shop.KIND, in_namespace(namespace, image="shop:latest"))
            assert refused.value.message == (
                'admission webhook "validate.shops.demo.example.com" denied the request: '
                'Shop.demo.example.com "corner" is invalid: '
                'spec.image: Invalid value: "shop:latest": must name a version'
            )
            dry = await client.create(Shop.KIND, in_namespace(namespace), dry_run=True)
            assert dry["spec"]["replicas"] == 3
            ref = ObjectRef(Shop.KIND, "corner", namespace)
            with pytest.raises(NotFoundError):
                await client.get(ref)
            made = await client.create(Shop.KIND, in_namespace(namespace))
            assert made["spec"]["replicas"] == 3
            with pytest.raises(InvalidError):
                await client.patch(ref, {"spec": {"image": "shop:latest"}})
            changed = await client.patch(ref, {"spec": {"replicas": None}})
            assert changed["spec"]["replicas"] == 3
            child = ObjectRef(kinds.CONFIG_MAP, "corner", namespace)
            await until(lambda: exists(client, child))
            assert (await client.get(child))["metadata"]["labels"] == {"by": "webhook"}
            unlucky = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "unlucky", "namespace": namespace},
                "data": {"replicas": "13"},
            }
            with pytest.raises(InvalidError, match="brings bad luck"):
                await client.create(kinds.CONFIG_MAP, unlucky)
            unlucky["data"] = {"replicas": "12"}
            await client.create(kinds.CONFIG_MAP, unlucky)
            luckless = ObjectRef(kinds.CONFIG_MAP, "unlucky", namespace)
            await client.patch(luckless, {"data": {"replicas": "13"}})
            with pytest.raises(InvalidError, match="brings bad luck"):
                await client.delete(luckless)
            quota = {**unlucky, "metadata": {"name": "quota", "namespace": namespace}}
            await client.create(kinds.CONFIG_MAP, {**quota, "data": {"shops": "0"}})
            await until(lambda: is_refused(client, in_namespace(namespace, name="second")))
            await client.delete(ref)
            await until(lambda: is_gone(client, ref))

    asyncio.run(scenario())


async def is_refused(client: Client, obj: Json) -> bool:
    """Whether a dry run is refused because of the quota, which the validator reads from its cache."""
    try:
        await client.create(Shop.KIND, obj, dry_run=True)
    except ForbiddenError as error:
        return "the quota is used up" in error.message
    return False


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait until it holds, for half a minute."""
    async with asyncio.timeout(30):
        while not await holds():  # noqa: ASYNC110 - another process tells no event
            await asyncio.sleep(0.05)  # noqa: TID251 - a real server


async def is_gone(client: Client, ref: ObjectRef) -> bool:
    """Whether an object is not there."""
    return not await exists(client, ref)


async def exists(client: Client, ref: ObjectRef) -> bool:
    """Whether an object is there."""
    try:
        await client.get(ref)
    except NotFoundError:
        return False
    return True


@pytest.mark.law("H3")
@pytest.mark.parametrize("seconds", [20, pytest.param(300, marks=pytest.mark.long)])
def test_no_admission_fails_while_certificates_rotate(
    kubeconfig: Path, namespace: str, seconds: int
) -> None:
    """Authority and certificate are replaced every 8 seconds, under constant load."""

    async def scenario() -> tuple[int, int]:
        options = webhook_options(terms=_SHORT, poll=timedelta(seconds=0.2))
        bundles: set[str] = set()
        requests = 0
        async with serving(kubeconfig, options) as client:
            loop = asyncio.get_running_loop()
            ends_at = loop.time() + seconds

            async def load(number: int) -> None:
                nonlocal requests
                while loop.time() < ends_at:
                    made = in_namespace(namespace, name=f"shop-{number}")
                    answer = await client.create(Shop.KIND, made, dry_run=True)
                    assert answer["spec"]["replicas"] == 3
                    requests += 1
                    await asyncio.sleep(0.02)  # noqa: TID251 - a real server

            async def look() -> None:
                ref = ObjectRef(kinds.VALIDATING_WEBHOOK_CONFIGURATION, "shops")
                while loop.time() < ends_at:
                    found = await client.get(ref)
                    bundles.add(found["webhooks"][0]["clientConfig"]["caBundle"])
                    await asyncio.sleep(0.2)  # noqa: TID251 - a real server

            async with asyncio.TaskGroup() as group:
                group.create_task(look())
                for number in range(4):
                    group.create_task(load(number))
        return requests, len(bundles)

    requests, bundles = asyncio.run(scenario())

    assert requests > 10 * seconds
    assert bundles > seconds / 8, "an authority alone, then two, then the new one alone"
