"""The conversion webhook of a manager on a real API server: served over HTTPS, its bundle injected."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from examples.web_app.controller import WebApp, WebApps, WebAppV1Beta1
from myrmidon import Manager, ManagerOptions, kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.generate.manifests.layout import definitions_of
from myrmidon.io.access.kubeconfig import load_endpoint
from myrmidon.io.client import Client
from myrmidon.io.http.transport import HttpTransport
from tests.cluster.test_webhooks import webhook_options

NAME = f"{WebApp.KIND.plural}.{WebApp.KIND.group}"


def test_a_manager_converts_for_the_api_server(kubeconfig: Path, namespace: str) -> None:
    """An object is written as v1beta1, reconciled as v1, edited in both; nothing is lost."""

    async def scenario() -> None:
        options = webhook_options()
        async with AsyncExitStack() as stack:
            transport = HttpTransport(await load_endpoint(str(kubeconfig), None))
            stack.push_async_callback(transport.close)
            client = Client(transport)
            definitions = definitions_of([WebApps], client={"url": f"{options.url}/convert"})
            settings = ManagerOptions(
                kubeconfig=str(kubeconfig),
                webhooks=options,
                install_crds=True,
                migrate_storage=True,
            )
            manager = Manager(settings, definitions=definitions)
            manager.add(WebApps())
            group = await stack.enter_async_context(asyncio.TaskGroup())
            task = group.create_task(manager.run())
            stack.callback(manager.stop)
            async with asyncio.timeout(90):
                while manager.checks().get("webhooks", "") is not None or not manager.is_idle:
                    assert not task.done()
                    await asyncio.sleep(0.05)  # noqa: TID251 - a real server
                await _converse(client, namespace)
            await client.delete(ObjectRef(kinds.CUSTOM_RESOURCE_DEFINITION, NAME))
        await asyncio.sleep(0.5)  # noqa: TID251 - until TLS connections of the API server are closed

    asyncio.run(scenario())


async def _converse(client: Client, namespace: str) -> None:
    old = {
        "apiVersion": WebAppV1Beta1.KIND.api_version,
        "kind": "WebApp",
        "metadata": {"name": "shop", "namespace": namespace},
        "spec": {"image": "shop:1", "size": 2, "host": "shop.example.com"},
    }
    made = await client.create(WebAppV1Beta1.KIND, old)
    assert made["spec"] == old["spec"]
    as_v1 = ObjectRef(WebApp.KIND, "shop", namespace)
    as_v1beta1 = ObjectRef(WebAppV1Beta1.KIND, "shop", namespace)
    hosts = ["shop.example.com", "www.example.com"]
    await client.patch(as_v1, {"spec": {"hosts": hosts}})
    await client.patch(as_v1beta1, {"spec": {"size": 3}})
    spec = (await client.get(as_v1))["spec"]
    assert spec == {"image": "shop:1", "replicas": 3, "hosts": hosts}
    shown: Json = await client.get(as_v1beta1)
    while "conditions" not in shown.get("status", {}):
        await asyncio.sleep(0.1)  # noqa: TID251 - a real server
        shown = await client.get(as_v1beta1)
    deployment = await client.get(ObjectRef(kinds.DEPLOYMENT, "shop", namespace))
    assert deployment["spec"]["replicas"] in (2, 3)
    listed = await client.list(WebAppV1Beta1.KIND, namespace)
    assert [one["spec"]["size"] for one in listed] == [3]
    await client.patch(as_v1, {"metadata": {"finalizers": None}})
    await client.delete(as_v1beta1)
