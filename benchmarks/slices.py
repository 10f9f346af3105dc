"""What does each of three replicas receive and hold, against one replica that has everything?

    KUBECONFIG=K python -m benchmarks.slices [--parents 8000] [--rounds 3]

Makes ConfigMaps (parents, 1 KB of data) with two Secrets each (children) in 300 namespaces if they are
missing, then fills caches in a fresh process per figure: all objects, and the third of each replica,
divided by namespace and by uid.  Prints bytes received, growth of the resident memory and CPU time, and
the largest of the three against the whole.  Whether the server has the feature gate ShardedListAndWatch
shows in the bytes.
"""

import argparse
import asyncio
import gc
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import psutil

from myrmidon.api.objects.kinds import CONFIG_MAP, NAMESPACE, SECRET
from myrmidon.api.requests.shard_selectors import HASH_END
from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream, Transport
from myrmidon.errors import AlreadyExistsError
from myrmidon.io import Caches, Client, LoopClock
from myrmidon.io.access.kubeconfig import load_endpoint
from myrmidon.io.http.transport import HttpTransport
from myrmidon.io.lists.slices import slices_of

REPLICAS = 3
LABELS = "bench=slices-300"
SPACES = [f"bench-{uuid5(NAMESPACE_OID, str(number)).hex[:12]}" for number in range(300)]


class CountingTransport:
    """Counts the bytes of all answers."""

    def __init__(self, inner: Transport) -> None:
        self._inner, self.received = inner, 0

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send a request."""
        answer = await self._inner.send(request, deadline=deadline)
        self.received += len(answer.body)
        return answer

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[ResponseStream]:
        """Open a stream."""
        async with self._inner.stream(request) as stream:
            yield _CountedStream(stream, self)

    async def close(self) -> None:
        """Close the connections."""
        await self._inner.close()


class _CountedStream:
    def __init__(self, inner: ResponseStream, transport: CountingTransport) -> None:
        self._inner, self._transport = inner, transport
        self.status, self.headers = inner.status, inner.headers

    async def lines(self) -> AsyncIterator[bytes]:
        async for line in self._inner.lines():
            self._transport.received += len(line)
            yield line

    async def read(self) -> bytes:
        return await self._inner.read()


async def fill(parents: int) -> None:
    """Create the missing objects."""
    client = Client(HttpTransport(await load_endpoint()))
    for space in SPACES:
        with suppress(AlreadyExistsError):
            await client.create(NAMESPACE, {"metadata": {"name": space}})
    present = len(await client.list(SECRET, labels=LABELS))
    if present < 2 * parents:
        numbers = iter(range(parents))
        async with asyncio.TaskGroup() as group:
            for _ in range(32):
                group.create_task(_create(client, numbers))
    await client.close()


async def _create(client: Client, numbers: Iterator[int]) -> None:
    for number in numbers:
        meta: dict[str, Any] = {"namespace": SPACES[number % len(SPACES)]}
        meta["labels"] = dict([LABELS.split("=")])
        body = {"data": {"text": "x" * 1000}}
        with suppress(AlreadyExistsError):
            made = await client.create(
                CONFIG_MAP, {"metadata": {**meta, "name": f"p-{number}"}, **body}
            )
            names = {"apiVersion": "v1", "kind": "ConfigMap", "name": f"p-{number}"}
            meta["ownerReferences"] = [
                {**names, "uid": made["metadata"]["uid"], "controller": True}
            ]
            for child in range(2):
                secret = {"metadata": {**meta, "name": f"c-{number}-{child}"}}
                await client.create(SECRET, {**secret, "stringData": body["data"]})


async def measure(name: str) -> dict[str, float]:
    """Fill the caches of one replica, in this process."""
    transport = CountingTransport(HttpTransport(await load_endpoint()))
    client = Client(transport)
    await client.fetch_json("/version")  # the connection and its imports are not the objects' cost
    caches = Caches(client, clock=LoopClock())
    field, _, number = name.partition("/")
    if field in ("uid", "namespace"):
        start = int(number) * HASH_END // REPLICAS
        third = (start, (int(number) + 1) * HASH_END // REPLICAS)
        caches.set_slices(slices_of(field, [third]))  # type: ignore[arg-type]
    views = [
        caches.view(CONFIG_MAP, labels=LABELS, role="own"),
        caches.view(SECRET, labels=LABELS, role="child"),
    ]
    gc.collect()
    process = psutil.Process()
    before, cpu = process.memory_info().rss, time.process_time()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(caches.run())
        await caches.wait_slices()
        cpu = time.process_time() - cpu
        gc.collect()
        grown = process.memory_info().rss - before
        running.cancel()
    await client.close()
    held = sum(map(len, views))
    return {"objects": held, "received": transport.received, "grown": grown, "cpu": cpu}


def main() -> None:
    """Measure everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parents", type=int, default=8000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(asyncio.run(measure(options.one))))
        return
    asyncio.run(fill(options.parents))
    names = ["all", *(f"{by}/{each}" for by in ("namespace", "uid") for each in range(REPLICAS))]
    best: dict[str, dict[str, float]] = {}
    for _ in range(options.rounds):
        for name in names:
            command = [sys.executable, "-m", "benchmarks.slices", "--one", name]
            figures = json.loads(subprocess.check_output(command))
            known = best.setdefault(name, figures)
            best[name] = {key: min(known[key], figures[key]) for key in figures}
    print(f"{'':14}{'objects':>9}{'MB received':>13}{'MB held':>9}{'cpu s':>7}")
    for name, row in best.items():
        print(
            f"{name:14}{row['objects']:9}{row['received'] / 1e6:13.2f}"
            f"{row['grown'] / 1e6:9.2f}{row['cpu']:7.2f}"
        )
    for by in ("namespace", "uid"):
        shares = {
            key: max(best[f"{by}/{each}"][key] for each in range(REPLICAS)) / best["all"][key]
            for key in ("objects", "received", "grown")
        }
        said = ", ".join(f"{key} {share:.2f}" for key, share in shares.items())
        print(f"largest of three by {by}, of the whole: {said}")


if __name__ == "__main__":
    main()
