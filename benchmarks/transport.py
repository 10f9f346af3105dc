"""What does a write cost its sender?  ``python -m benchmarks.transport``.

ConfigMaps are created on the embedded API server, which runs in a process of its own and speaks TLS:
through a plain aiohttp session, through the connections of ``myrmidon.io.pool``, and through
the whole client.  Counted is the CPU time of this process alone, in turn, the best of several rounds.
"""

import asyncio
import ssl
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import orjson

from myrmidon.api import kinds
from myrmidon.io.addresses import Address
from myrmidon.io.client import Client
from myrmidon.io.config import Endpoint, load_endpoint
from myrmidon.io.http import HttpTransport
from myrmidon.io.pool import Limits, Pool

PATH = "/api/v1/namespaces/default/configmaps"
HEADERS = {"accept": "application/json", "content-type": "application/json"}
WRITES, AT_ONCE, ROUNDS = 800, 16, 5
_COMMAND = (sys.executable, "-m", "myrmidon", "server", "--tls", "--kubeconfig-out")
Send = Callable[[str], Awaitable[object]]


def manifest(name: str) -> dict[str, object]:
    """A small object."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "bench"}},
        "data": {"value": "one"},
    }


async def microseconds(send: Send, label: str) -> float:
    """CPU time of one write, several at a time."""
    numbers = iter(range(WRITES))

    async def work() -> None:
        for number in numbers:
            await send(f"{label}-{number}")

    began = time.process_time()
    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work())
    return (time.process_time() - began) / WRITES * 1e6


async def measure(endpoint: Endpoint) -> dict[str, float]:
    """The best round of each way."""
    tls = ssl.create_default_context(cafile=endpoint.tls.ca_file)
    authorization = {"authorization": await endpoint.credentials.authorization(0.0)}
    session = aiohttp.ClientSession(
        headers={**HEADERS, **authorization},
        connector=aiohttp.TCPConnector(ssl=tls, limit=AT_ONCE),
    )
    limits = Limits(connections_max=AT_ONCE, connect_seconds=5.0, keepalive_seconds=30.0)
    pool = Pool(Address.of(endpoint.server, tls), limits)
    client = Client(HttpTransport(endpoint))

    async def by_session(name: str) -> None:
        body = orjson.dumps(manifest(name))
        async with session.post(endpoint.server + PATH, data=body) as answer:
            orjson.loads(await answer.read())

    async def by_pool(name: str) -> None:
        headers = (*HEADERS.items(), *authorization.items())
        answer = await pool.send("POST", PATH, headers, orjson.dumps(manifest(name)))
        orjson.loads(answer.body)

    async def by_client(name: str) -> None:
        await client.create(kinds.CONFIG_MAP, manifest(name))

    ways = {"aiohttp session": by_session, "connections": by_pool, "whole client": by_client}
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for round_number in range(ROUNDS):
        for number, (way, send) in enumerate(ways.items()):
            taken[way].append(await microseconds(send, f"r{round_number}-{number}"))
    pool.close()
    await client.close()
    await session.close()
    return {way: min(times) for way, times in taken.items()}


def main() -> None:
    """Print the table."""
    with TemporaryDirectory() as place:
        kubeconfig = Path(place) / "kubeconfig"
        server = subprocess.Popen([*_COMMAND, str(kubeconfig)], stdout=subprocess.DEVNULL)
        try:
            while not kubeconfig.exists():
                time.sleep(0.05)  # noqa: TID251  a process of its own, in real time
            best = asyncio.run(_on(kubeconfig))
        finally:
            server.terminate()
            server.wait()
    print("| a write through | CPU time of the sender | ratio |\n| --- | ---: | ---: |")
    for way, taken in best.items():
        print(f"| {way} | {taken:.0f} µs | {taken / best['aiohttp session']:.2f} |")


async def _on(kubeconfig: Path) -> dict[str, float]:
    return await measure(await load_endpoint(kubeconfig))


if __name__ == "__main__":
    main()
