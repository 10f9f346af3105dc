"""What does a write cost its sender?  ``python -m benchmarks.transport``.

ConfigMaps are created on the embedded API server, which runs in a process of its own and speaks TLS:
through a plain aiohttp session, through the connections of ``myrmidon.io.http.pool``, and through
the whole client, on asyncio's event loop and on uvloop if it is installed.  Counted is the CPU time
of this process alone, in turn, the best of several rounds.
"""

import asyncio
import ssl
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import orjson

from myrmidon.api.objects import kinds
from myrmidon.cli.arguments.event_loops import loop_factory
from myrmidon.io.access.addresses import Address
from myrmidon.io.access.kubeconfig import Endpoint, load_endpoint
from myrmidon.io.client import Client
from myrmidon.io.http.pool import Limits, Pool
from myrmidon.io.http.transport import HttpTransport

PATH = "/api/v1/namespaces/default/configmaps"
HEADERS = {"accept": "application/json", "content-type": "application/json"}
WRITES, AT_ONCE, ROUNDS = 500, 16, 8
LOOPS = ("asyncio", "uvloop") if find_spec("uvloop") else ("asyncio",)
_COMMAND = (sys.executable, "-m", "myrmidon", "server", "--tls", "--kubeconfig-out")
Send = Callable[[str], Awaitable[object]]


def manifest(name: str) -> dict[str, object]:
    """Build a small object."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "bench"}},
        "data": {"value": "one"},
    }


async def microseconds(send: Send, label: str) -> float:
    """Return the CPU time of one write, with several at a time."""
    numbers = iter(range(WRITES))

    async def work() -> None:
        for number in numbers:
            await send(f"{label}-{number}")

    began = time.process_time()
    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work())
    return (time.process_time() - began) / WRITES * 1e6


class Senders:
    """The ways to send a write, on one event loop."""

    def __init__(self, endpoint: Endpoint, authorization: str) -> None:
        tls = ssl.create_default_context(cafile=endpoint.tls.ca_file)
        headers = {**HEADERS, "authorization": authorization}
        self._url, self._headers = endpoint.server + PATH, tuple(headers.items())
        connector = aiohttp.TCPConnector(ssl=tls, limit=AT_ONCE)
        self._session = aiohttp.ClientSession(headers=headers, connector=connector)
        limits = Limits(connections_max=AT_ONCE, connect_seconds=5.0, keepalive_seconds=30.0)
        self._pool = Pool(Address.of(endpoint.server, tls), limits)
        self._client = Client(HttpTransport(endpoint))
        self.ways: dict[str, Send] = {
            "an aiohttp session": self._by_session,
            "the pool of connections": self._by_pool,
            "the whole client": self._by_client,
        }

    async def close(self) -> None:
        """Close every connection."""
        self._pool.close()
        await self._client.close()
        await self._session.close()

    async def _by_session(self, name: str) -> None:
        body = orjson.dumps(manifest(name))
        async with self._session.post(self._url, data=body) as answer:
            orjson.loads(await answer.read())

    async def _by_pool(self, name: str) -> None:
        body = orjson.dumps(manifest(name))
        answer = await self._pool.send("POST", PATH, self._headers, body)
        orjson.loads(answer.body)

    async def _by_client(self, name: str) -> None:
        await self._client.create(kinds.CONFIG_MAP, manifest(name))


async def begin(kubeconfig: Path) -> Senders:
    """Create the senders of the running event loop."""
    endpoint = await load_endpoint(kubeconfig)
    return Senders(endpoint, await endpoint.credentials.authorization(0.0))


def measure(kubeconfig: Path) -> dict[str, float]:
    """Return the best round of each way on each event loop."""
    taken: dict[str, list[float]] = {}
    with ExitStack() as stack:
        runners = {
            name: stack.enter_context(asyncio.Runner(loop_factory=loop_factory(name)))
            for name in LOOPS
        }
        senders = {name: runner.run(begin(kubeconfig)) for name, runner in runners.items()}
        for number in range(ROUNDS):
            for name, runner in runners.items():
                for way, send in senders[name].ways.items():
                    label = f"r{number}-{len(taken)}-{name}-{way[-6:].strip()}"
                    spent = runner.run(microseconds(send, label))
                    taken.setdefault(f"{way}, {name}", []).append(spent)
        for name, runner in runners.items():
            runner.run(senders[name].close())
    return {way: min(times) for way, times in taken.items()}


def main() -> None:
    """Print the table."""
    with TemporaryDirectory() as place:
        kubeconfig = Path(place) / "kubeconfig"
        server = subprocess.Popen([*_COMMAND, str(kubeconfig)], stdout=subprocess.DEVNULL)
        try:
            while not kubeconfig.exists():
                time.sleep(0.05)  # noqa: TID251  a process of its own, in real time
            best = measure(kubeconfig)
        finally:
            server.terminate()
            server.wait()
    print("| a write through | CPU time of the sender | ratio |\n| --- | ---: | ---: |")
    for way, taken in best.items():
        print(f"| {way} | {taken:.0f} µs | {taken / next(iter(best.values())):.2f} |")


if __name__ == "__main__":
    main()
