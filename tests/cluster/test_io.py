"""Client, discovery and caches on a real API server, where a model of it could be wrong."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from myrmidon.api.objects.accessors import Json, uid_of, version_of
from myrmidon.api.objects.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.errors import (
    AlreadyExistsError,
    ConflictError,
    NotFoundError,
    UnreadableObjectError,
)
from myrmidon.io import Caches, Client, Discovery, LoopClock, Subscription, View
from myrmidon.io.access.kubeconfig import load_endpoint
from myrmidon.io.http.transport import HttpTransport
from myrmidon.io.watch.protocol import Timing
from myrmidon.io.writes.own_writes import OwnWrites


def play(kubeconfig: Path, check: Callable[[Client], Awaitable[None]]) -> None:
    """Run a check with a client of its own."""

    async def main() -> None:
        client = Client(HttpTransport(await load_endpoint(kubeconfig)))
        try:
            async with asyncio.timeout(60):
                await check(client)
        finally:
            await client.close()

    asyncio.run(main())


def manifest(name: str, namespace: str, text: str = "x") -> Json:
    """Build a ConfigMap."""
    return {"metadata": {"name": name, "namespace": namespace}, "data": {"text": text}}


async def until(condition: Callable[[], bool]) -> None:
    """Wait until ``holds`` is true; a watch has to deliver the change."""
    while not condition():
        await LoopClock().sleep(0.01)


async def beside(caches: Caches, check: Awaitable[None]) -> None:
    """Run a check beside the caches."""
    async with asyncio.TaskGroup() as group:
        running = group.create_task(caches.run())
        await check
        running.cancel()


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("metadata_only", [True, False])
def test_a_cache_follows_the_server(
    kubeconfig: Path, namespace: str, streaming: bool, metadata_only: bool
) -> None:
    """The first list, an own write whose event changes nothing, a foreign write, a deletion."""

    async def check(client: Client) -> None:
        for name in "abc":
            await client.create(CONFIG_MAP, manifest(name, namespace))
        caches = Caches(client, streaming=streaming, page_size=2)
        view = caches.view(CONFIG_MAP, namespaces=[namespace], metadata_only=metadata_only)
        await beside(caches, follow(client, caches, view))

    async def follow(client: Client, caches: Caches, view: View) -> None:
        await view.wait_synced()
        assert {"a", "b", "c"} <= {obj["metadata"]["name"] for obj in view.list()}
        heard = Subscription()
        view.subscribe(heard)
        while len(heard):
            await anext(heard)
        ref = ObjectRef(CONFIG_MAP, "a", namespace)
        own = await client.patch(ref, {"data": {"text": "own"}})
        OwnWrites[Any]("", caches).record_write(CONFIG_MAP, own, by="me")
        shown = view.get("a", namespace)
        assert shown is not None
        assert version_of(shown) == version_of(own)
        assert ("data" in shown) != metadata_only
        # A busy server may send the event before the response; the change is delivered once anyway.
        told = await anext(heard)
        assert (told.ref.name, told.version) == ("a", version_of(own))
        foreign = await client.patch(ObjectRef(CONFIG_MAP, "b", namespace), {"data": {"text": "y"}})
        assert (await anext(heard)).ref.name == "b", "the event of our own write was delivered"
        await client.delete(ObjectRef(CONFIG_MAP, "b", namespace), uid=uid_of(foreign))
        assert (await anext(heard)).type == "deleted"
        assert view.get("b", namespace) is None

    play(kubeconfig, check)


def test_short_watches_lose_nothing_and_list_once(kubeconfig: Path, namespace: str) -> None:
    """The server ends the watch each second; changes in between are delivered nevertheless."""
    lists: list[str] = []

    class Listening:
        def on_request(self, method: str, status: int, seconds: float) -> None:
            lists.append(method)

    async def check(client: Client) -> None:
        watched = Client(HttpTransport(await load_endpoint(kubeconfig)), observer=Listening())
        caches = Caches(watched, streaming=False, timing=Timing(watch_seconds=1.0))
        view = caches.view(CONFIG_MAP, namespaces=[namespace])
        await beside(caches, follow(client, view))
        await watched.close()

    async def follow(client: Client, view: View) -> None:
        await view.wait_synced()
        for number in range(15):
            await client.create(CONFIG_MAP, manifest(f"n{number}", namespace))
            await LoopClock().sleep(0.3)
        await until(lambda: all(view.get(f"n{n}", namespace) for n in range(15)))

    play(kubeconfig, check)
    assert len(lists) > 3, "one list and several watches"


def test_preconditions_and_subresources(kubeconfig: Path, namespace: str) -> None:
    """A delete with another uid does nothing; scale and dry run work."""

    async def check(client: Client) -> None:
        ref = ObjectRef(CONFIG_MAP, "p", namespace)
        created = await client.create(CONFIG_MAP, manifest("p", namespace))
        with pytest.raises(ConflictError):
            await client.delete(ref, uid="another")
        await client.patch(ref, {"data": {"text": "dry"}}, dry_run=True)
        assert (await client.get(ref))["data"] == {"text": "x"}
        await client.delete(ref, uid=uid_of(created), resource_version=version_of(created))
        with pytest.raises(NotFoundError):
            await client.get(ref)
        labels = {"app": "d"}
        template = {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
        meta = {"name": "d", "namespace": namespace}
        await client.create(DEPLOYMENT, {"metadata": meta, "spec": spec})
        scaled = ObjectRef(DEPLOYMENT, "d", namespace)
        await client.patch(scaled, {"spec": {"replicas": 3}}, subresource="scale")
        assert (await client.get(scaled, subresource="scale"))["spec"]["replicas"] == 3

    play(kubeconfig, check)


def test_discovery_finds_what_kubectl_finds(kubeconfig: Path) -> None:
    """By kind and by any other name."""

    async def check(client: Client) -> None:
        discovery = Discovery(client)
        assert await discovery.kind_of("apps/v1", "Deployment") == DEPLOYMENT
        for name in ("deploy", "deployments", "deployment", "Deployment", "deployments.apps"):
            assert (await discovery.find(name)).kind == DEPLOYMENT
        assert "scale" in (await discovery.find("deploy")).subresources
        with pytest.raises(NotFoundError):
            await discovery.kind_of("demo.dev/v1", "Nothing")

    play(kubeconfig, check)


FREE = Kind("deep.myrmidon.dev", "v1", "Free", "frees")
FREE_FORM = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize("streaming", [True, False])
def test_an_object_of_any_depth_that_the_server_accepts_affects_no_other(
    kubeconfig: Path, namespace: str, streaming: bool
) -> None:
    """K7: 300 levels are read, 3,000 are unreadable; the others are listed and watched."""

    async def check(client: Client) -> None:
        names = {"plural": "frees", "singular": "free", "kind": "Free", "listKind": "FreeList"}
        version = {"name": "v1", "served": True, "storage": True}
        spec = {
            "group": FREE.group,
            "scope": "Namespaced",
            "names": names,
            "versions": [{**version, "schema": {"openAPIV3Schema": FREE_FORM}}],
        }
        with suppress(AlreadyExistsError):
            definition = {"metadata": {"name": f"frees.{FREE.group}"}, "spec": spec}
            await client.create(CUSTOM_RESOURCE_DEFINITION, definition)
        await Discovery(client).wait_kind("deep.myrmidon.dev/v1", "Free")
        await put("a", 1, client)
        await put("deep", 300, client)
        await put("deeper", 3000, client)
        await put("z", 1, client)
        caches = Caches(client, streaming=streaming, page_size=2)
        view = caches.view(FREE, namespaces=[namespace])
        await beside(caches, follow(client, view))

    async def put(name: str, levels: int, client: Client) -> None:
        head = {"apiVersion": "deep.myrmidon.dev/v1", "kind": "Free", "metadata": {"name": name}}
        body = orjson.dumps(head)[:-1] + b',"free":' + b'{"a":' * levels + b"1" + b"}" * levels
        path = f"/apis/{FREE.group}/v1/namespaces/{namespace}/frees"
        headers = {"content-type": "application/json", "accept": "application/json"}
        for _ in range(100):
            try:
                await client.fetch(HttpRequest("POST", path, (), headers, body + b"}"))
            except NotFoundError:  # the definition is not served yet
                await LoopClock().sleep(0.1)
            else:
                return

    async def follow(client: Client, view: View) -> None:
        await view.wait_synced()
        assert [obj["metadata"]["name"] for obj in view.list()] == ["a", "deep", "z"]
        with pytest.raises(UnreadableObjectError, match="nested deeper"):
            view.get("deeper", namespace)
        await put("later-deeper", 3000, client)
        await put("later", 1, client)
        await until(lambda: view.get("later", namespace) is not None)
        with pytest.raises(UnreadableObjectError):
            view.get("later-deeper", namespace)
        await client.delete(ObjectRef(FREE, "deeper", namespace))
        await until(lambda: len(view) == 5)
        assert view.get("deeper", namespace) is None

    play(kubeconfig, check)
