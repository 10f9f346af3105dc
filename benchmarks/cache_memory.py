"""What does a cached object cost?  Memory and time of the first sync, against raw paging.

    KUBECONFIG=K python benchmarks/cache_memory.py [--objects 50000] [--rounds 3]

Makes the ConfigMaps (1 KB of data each) if they are missing, then measures in a fresh process per
figure: raw paging with a bare aiohttp session, a cache filled by pages, a cache filled by a
streaming list.  Prints one table; the best of all rounds, since the machine is shared.
"""

import argparse
import asyncio
import gc
import json
import subprocess
import sys
import time
from contextlib import suppress

import aiohttp
import orjson
import psutil

from myrmidon.api.objects.kinds import CONFIG_MAP, NAMESPACE
from myrmidon.errors import AlreadyExistsError
from myrmidon.io import Caches, Client, LoopClock, Scope
from myrmidon.io.access.certificates import ssl_context
from myrmidon.io.access.kubeconfig import load_endpoint
from myrmidon.io.http.transport import HttpTransport

SPACE = "bench-cache"
SCOPE = Scope(CONFIG_MAP, SPACE)


async def fill(count: int) -> None:
    """Create the missing objects."""
    client = Client(HttpTransport(await load_endpoint()))
    with suppress(AlreadyExistsError):
        await client.create(NAMESPACE, {"metadata": {"name": SPACE}})
    present = {obj["metadata"]["name"] for obj in await client.list(CONFIG_MAP, SPACE)}
    missing = iter([name for name in map("cm-{:06}".format, range(count)) if name not in present])

    async def create() -> None:
        for name in missing:
            meta = {"name": name, "namespace": SPACE, "labels": {"app": "bench"}}
            body = {"metadata": meta, "data": {"text": "x" * 1000}}
            with suppress(AlreadyExistsError):
                await client.create(CONFIG_MAP, body)

    async with asyncio.TaskGroup() as group:
        for _ in range(32):
            group.create_task(create())
    await client.close()


async def page_raw() -> dict[str, float]:
    """Page through the list with minimal code."""
    endpoint = await load_endpoint()
    header = await endpoint.credentials.authorization(0.0)
    connector = aiohttp.TCPConnector(ssl=ssl_context(endpoint.tls))
    url = f"{endpoint.server}/api/v1/namespaces/{SPACE}/configmaps"
    count, token = 0, ""
    started, cpu = time.perf_counter(), time.process_time()
    async with aiohttp.ClientSession(
        connector=connector, headers={"Authorization": header}
    ) as session:
        while True:
            query = {"limit": "500"} | ({"continue": token} if token else {})
            async with session.get(url, params=query) as response:
                page = orjson.loads(await response.read())
            count += len(page["items"])
            token = page["metadata"].get("continue", "")
            if not token:
                break
    return {
        "objects": count,
        "seconds": time.perf_counter() - started,
        "cpu": time.process_time() - cpu,
    }


async def sync(*, streaming: bool) -> dict[str, float]:
    """Fill a cache."""
    client = Client(HttpTransport(await load_endpoint()))
    caches = Caches(client, clock=LoopClock(), streaming=streaming)
    await client.fetch_json("/version")  # the connection and its imports are not the objects' cost
    view = caches.view(CONFIG_MAP, namespaces=[SPACE])
    gc.collect()
    process = psutil.Process()
    before = process.memory_info().rss
    started, cpu = time.perf_counter(), time.process_time()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(caches.run())
        await view.wait_synced()
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
        gc.collect()
        grown = process.memory_info().rss - before
        obj = view.get("cm-000000", SPACE)
        running.cancel()
    await client.close()
    return {
        "objects": len(view),
        "seconds": seconds,
        "cpu": cpu,
        "bytes": grown / len(view),
        "json": len(orjson.dumps(obj)),
    }


async def measure(name: str) -> dict[str, float]:
    """Measure one figure, in this process."""
    return await page_raw() if name == "raw" else await sync(streaming=name == "stream")


def main() -> None:
    """Measure everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objects", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", choices=["raw", "pages", "stream"])
    options = parser.parse_args()
    if options.one:
        print(json.dumps(asyncio.run(measure(options.one))))
        return
    asyncio.run(fill(options.objects))
    best: dict[str, dict[str, float]] = {}
    for _ in range(options.rounds):
        for name in ("raw", "pages", "stream"):
            command = [sys.executable, "-m", "benchmarks.cache_memory", "--one", name]
            figures = json.loads(subprocess.check_output(command))
            if name not in best or figures["seconds"] < best[name]["seconds"]:
                best[name] = figures
    print(
        f"{'':8}{'objects':>9}{'seconds':>9}{'of raw':>8}{'cpu s':>7}{'RSS/object':>12}{'JSON':>7}"
    )
    for name, row in best.items():
        ratio = row["seconds"] / best["raw"]["seconds"]
        memory = f"{row['bytes']:12.0f}{row['json']:7}" if "bytes" in row else ""
        print(
            f"{name:8}{row['objects']:9}{row['seconds']:9.2f}{ratio:8.2f}{row['cpu']:7.2f}{memory}"
        )


if __name__ == "__main__":
    main()
