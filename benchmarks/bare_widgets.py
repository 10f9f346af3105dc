"""The job of ``widget.py`` without a framework: a watch, and the writes that follow from it.

It assumes that no other client writes, that nothing fails and that it is never restarted, so it
needs no cache, no queue and no comparison.  Its rate is what the API server allows any controller.

    KUBECONFIG=K python -m benchmarks.bare_widgets
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import orjson

from myrmidon.api.requests.transport import JSON
from myrmidon.io.access.kubeconfig import load_endpoint

WIDGETS = "/apis/bench.dev/v1/namespaces/bench/widgets"
CONFIG_MAPS = "/api/v1/namespaces/bench/configmaps"
MERGE = "application/merge-patch+json"
WORKERS = 16


class Bare:
    """Creates the ConfigMaps of every Widget that its watch delivers."""

    def __init__(self, session: aiohttp.ClientSession, server: str) -> None:
        self._session, self._server = session, server
        self._waiting: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._made: set[str] = set()

    async def run(self) -> None:
        """Work until killed."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._listen())
            group.create_task(self._overhear())
            for _ in range(WORKERS):
                group.create_task(self._work())

    async def _listen(self) -> None:
        async for line in self._watched(WIDGETS):
            event = orjson.loads(line)
            widget = event["object"]
            if event["type"] == "DELETED":
                self._made.discard(widget["metadata"]["name"])
            elif not _is_done(widget):
                self._waiting.put_nowait(widget)

    async def _overhear(self) -> None:
        """Read the watch of ConfigMaps, as every controller must, and ignore its events."""
        async for _ in self._watched(CONFIG_MAPS):
            pass

    async def _watched(self, path: str) -> AsyncIterator[bytes]:
        async with self._session.get(self._server + path, params={"watch": "1"}) as answer:
            async for line in answer.content:
                yield line

    async def _work(self) -> None:
        while True:
            widget = await self._waiting.get()
            name, value = widget["metadata"]["name"], widget["spec"]["value"]
            for letter in "abc":
                if name in self._made:
                    path = f"{CONFIG_MAPS}/{name}-{letter}"
                    await self._send("PATCH", path, {"data": {"value": value}}, MERGE)
                else:
                    await self._send("POST", CONFIG_MAPS, _config_map(widget, letter), JSON)
            self._made.add(name)
            said = status(widget["metadata"]["generation"])
            await self._send("PATCH", f"{WIDGETS}/{name}/status", said, MERGE)

    async def _send(self, method: str, path: str, body: dict[str, Any], kind: str) -> None:
        await send(self._session, method, self._server + path, body, kind)


async def send(
    session: aiohttp.ClientSession, method: str, url: str, body: dict[str, Any], kind: str = JSON
) -> None:
    """Send one write."""
    headers, data = {"content-type": kind}, json.dumps(body)
    async with session.request(method, url, data=data, headers=headers) as answer:
        await answer.read()
        answer.raise_for_status()


def status(generation: int) -> dict[str, Any]:
    """Return a status with Ready alone."""
    ready = {"type": "Ready", "status": "True", "observedGeneration": generation}
    return {"status": {"conditions": [ready]}}


def _is_done(widget: dict[str, Any]) -> bool:
    conditions = widget.get("status", {}).get("conditions", [])
    return any(one["observedGeneration"] == widget["metadata"]["generation"] for one in conditions)


def _config_map(widget: dict[str, Any], letter: str) -> dict[str, Any]:
    meta = widget["metadata"]
    owner = {
        "apiVersion": widget["apiVersion"],
        "kind": widget["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{meta['name']}-{letter}", "ownerReferences": [owner]},
        "data": {"value": widget["spec"]["value"]},
    }


async def main() -> None:
    """Run on the cluster of $KUBECONFIG."""
    endpoint = await load_endpoint()
    connector = aiohttp.TCPConnector(
        ssl=ssl.create_default_context(cafile=endpoint.tls.ca_file), limit=0
    )
    headers = {"authorization": await endpoint.credentials.authorization(0.0)}
    forever = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        headers=headers, connector=connector, timeout=forever
    ) as session:
        await Bare(session, endpoint.server).run()


if __name__ == "__main__":
    asyncio.run(main())
