"""How much does a framework add to its own writes?  The Widget job on a real kube-apiserver.

    python -m benchmarks.widgets [--objects 500] [--rounds 2] [--against DIRECTORY]

N Widgets, three ConfigMaps each, then Ready:

    backlog  the Widgets are there when the controller, already running, is let go
    create   they are made while it works, which the API server does on the same cores
    change   all of them get another value
    restart  the controller is started again, and has nothing to do

``CPU`` is that of the client or the controller, ``server`` that of the API server and etcd.

``raw`` is the floor: a bare aiohttp session that sends the three creates and the status of each
Widget of a backlog, and knows nothing.  ``bare`` is a controller without a framework: it does the same
when a watch tells it to, and shows what the API server leaves to anybody in each phase.  Absolute
figures say little on a shared machine; compare within one run.

``--against`` names another checkout of myrmidon.  Its controller is measured beside this one instead
of kopf, which tells what a change costs or saves.
"""

import argparse
import asyncio
import os
import re
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import orjson
import psutil

from benchmarks.bare_widgets import CONFIG_MAPS, MERGE, WIDGETS, send, status
from benchmarks.widget import Widget
from myrmidon.api import Json, ObjectRef
from myrmidon.api.objects import kinds
from myrmidon.api.objects.conditions import READY, find
from myrmidon.api.requests.paths import collection_path
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.errors import AlreadyExistsError
from myrmidon.generate import crd
from myrmidon.io.access.kubeconfig import Endpoint, load_endpoint
from myrmidon.io.client import Client
from myrmidon.io.http.transport import HttpTransport
from myrmidon.io.lists.scope import Scope
from tests.cluster.controlplane.binaries import find as binaries
from tests.cluster.controlplane.controlplane import ControlPlane

HERE, SPACE, AT_ONCE = Path(__file__).parent, "bench", 16
CHECKOUT = HERE.parent
MYRMIDON = [
    "-m", "myrmidon", "run", "benchmarks.widget:Widgets", "--namespace", SPACE, "--workers", "16",
    "--metrics-addr", "", "--health-addr", "",
]  # fmt: skip
BARE = ["-m", "benchmarks.bare_widgets"]
KOPF = ["-m", "kopf", "run", "-q", "-n", SPACE, "--standalone", str(HERE / "kopf_widgets.py")]
_COUNTED = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)
_WRITES = ("POST", "PUT", "PATCH", "APPLY")


class Row(NamedTuple):
    """One line of the table."""

    who: str
    phase: str
    rate: float | None
    writes: float
    reads: float | None
    cpu: float | None
    server_cpu: float | None

    def line(self, number: int, floor: "Row") -> str:
        """Return the line, compared with a bare client."""
        assert floor.rate is not None and floor.cpu is not None  # noqa: PT018
        cells = [
            "" if self.rate is None else f"{self.rate:.0f}",
            "" if self.rate is None else f"{self.rate / floor.rate:.2f}",
            f"{self.writes:.2f}",
            "" if self.reads is None else f"{self.reads:.2f}",
            "" if self.cpu is None else f"{self.cpu:.1f} ms",
            "" if self.cpu is None else f"{self.cpu / floor.cpu:.2f}",
            "" if self.server_cpu is None else f"{self.server_cpu:.1f} ms",
        ]
        return f"| {number} | {self.who} | {self.phase} | {' | '.join(cells)} |"


class Bench:
    """The user of the cluster: creates Widgets, waits for them, counts requests."""

    def __init__(self, client: Client, objects: int) -> None:
        self._client, self._names = client, [f"w{number:05}" for number in range(objects)]

    async def prepare(self) -> None:
        """Prepare a cluster without Widgets."""
        for kind, manifest in (
            (kinds.CUSTOM_RESOURCE_DEFINITION, crd(Widget)),
            (
                kinds.NAMESPACE,
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}},
            ),
        ):
            with suppress(AlreadyExistsError):
                await self._client.create(kind, manifest)
        await _pause(2)
        for kind in (Widget.KIND, kinds.CONFIG_MAP):
            await self._client.fetch(HttpRequest("DELETE", collection_path(kind, SPACE)))

    async def create(self, value: str) -> None:
        """Create all Widgets."""
        await _all(self._client.create(Widget.KIND, _widget(name, value)) for name in self._names)

    async def change(self, value: str) -> None:
        """Change all Widgets."""
        refs = [ObjectRef(Widget.KIND, name, SPACE) for name in self._names]
        await _all(self._client.patch(ref, {"spec": {"value": value}}) for ref in refs)

    async def wait_ready(self, value: str) -> None:
        """Wait until all are Ready for their current generation.

        It uses a watch: repeated lists of all of them would be a good part of the server's work.
        """
        ready: set[str] = set()
        async with self._client.watch(Scope(Widget.KIND, SPACE), "0") as events:
            async for event in events:
                widget = event["object"]
                if event["type"] in {"ADDED", "MODIFIED"} and _is_ready(widget, value):
                    ready.add(widget["metadata"]["name"])
                if len(ready) == len(self._names):
                    return
        raise TimeoutError(f"{len(ready)} of {len(self._names)} Widgets are Ready")

    async def requests(self) -> dict[str, float]:
        """Return requests by verb, as the API server counted them."""
        answer = await self._client.fetch(HttpRequest("GET", "/metrics"))
        found: dict[str, float] = {}
        for labels, count in _COUNTED.findall(answer.body.decode()):
            said = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            if said.get("resource") in ("widgets", "configmaps"):
                found[said["verb"]] = found.get(said["verb"], 0.0) + float(count)
        return found

    async def widgets(self) -> list[Json]:
        """Return all Widgets from the watch cache of the server, which costs it least."""
        path = collection_path(Widget.KIND, SPACE)
        answer = await self._client.fetch(HttpRequest("GET", path, (("resourceVersion", "0"),)))
        items: list[Json] = orjson.loads(answer.body)["items"]
        return items


class Raw:
    """A client that only sends the necessary requests."""

    def __init__(self, endpoint: Endpoint, authorization: str) -> None:
        self._server, self._authorization = endpoint.server, authorization
        self._tls = ssl.create_default_context(cafile=endpoint.tls.ca_file)

    async def measure(self, widgets: list[Json]) -> Row:
        """Send everything for these Widgets."""
        connector = aiohttp.TCPConnector(ssl=self._tls, limit=AT_ONCE)
        headers = {"authorization": self._authorization}
        async with aiohttp.ClientSession(headers=headers, connector=connector) as session:
            started, cpu, server = time.perf_counter(), time.process_time(), _server_cpu()
            await _all(self._make(session, widget["metadata"]["name"]) for widget in widgets)
            seconds, spent = time.perf_counter() - started, time.process_time() - cpu
            served = _server_cpu() - server
        count = len(widgets)
        per_widget = spent * 1000 / count, served * 1000 / count
        return Row("raw", "backlog", count / seconds, 4.0, 0.0, *per_widget)

    async def _make(self, session: aiohttp.ClientSession, name: str) -> None:
        for letter in "abc":
            meta = {"name": f"{name}-{letter}", "labels": {"app": name}}
            child = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": meta,
                "data": {"value": "one"},
            }
            await send(session, "POST", self._server + CONFIG_MAPS, child)
        await send(session, "PATCH", f"{self._server}{WIDGETS}/{name}/status", status(1), MERGE)


class Contender:
    """A controller in a process of its own."""

    def __init__(
        self, who: str, command: list[str], bench: Bench, objects: int, checkout: Path = CHECKOUT
    ) -> None:
        self._who, self._command, self._bench, self._objects = who, command, bench, objects
        self._checkout = checkout

    async def measure(self) -> list[Row]:
        """Return all its rows."""
        bench = self._bench
        await bench.prepare()
        process = await _started(self._command, self._checkout)
        process.suspend()
        await bench.create("one")
        rows = [await self._phase(process, "backlog", "one", process.resume)]
        await bench.prepare()
        rows.append(await self._phase(process, "create", "one", lambda: bench.create("one")))
        rows.append(await self._phase(process, "change", "two", lambda: bench.change("two")))
        await _stopped(process)
        before = await bench.requests()
        process = await _started(self._command, self._checkout)
        await _pause(8)
        writes = _writes(before, await bench.requests()) / self._objects
        await _stopped(process)
        return [*rows, Row(self._who, "restart", None, writes, None, None, None)]

    async def _phase(
        self, process: psutil.Process, phase: str, value: str, act: Callable[[], Any]
    ) -> Row:
        before, cpu, server = await self._bench.requests(), _cpu(process), _server_cpu()
        started = time.perf_counter()
        acting = act()
        if acting is not None:
            await acting
        await self._bench.wait_ready(value)
        rate = self._objects / (time.perf_counter() - started)
        served = (_server_cpu() - server) * 1000 / self._objects
        await _pause(3)
        after, spent = await self._bench.requests(), _cpu(process) - cpu
        ours = 0 if acting is None else 1  # the write that creates or changes the Widget
        writes = _writes(before, after) / self._objects - ours
        reads = (after.get("GET", 0) - before.get("GET", 0)) / self._objects
        return Row(self._who, phase, rate, writes, reads, spent * 1000 / self._objects, served)


async def run(objects: int, rounds: int, against: Path | None) -> None:
    """Print the table."""
    contenders = [("bare", BARE, CHECKOUT), ("myrmidon", MYRMIDON, CHECKOUT)]
    contenders.append(("against", MYRMIDON, against) if against else ("kopf", KOPF, CHECKOUT))
    endpoint = await load_endpoint()
    client = Client(HttpTransport(endpoint), deadline_seconds=120)
    bench = Bench(client, objects)
    raw = Raw(endpoint, await endpoint.credentials.authorization(0.0))
    print(f"{objects} Widgets, three ConfigMaps each; everything per Widget\n")
    print("| round | who | phase | per second | of raw | writes | reads | CPU | of raw | server |")
    print("|---|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for number in range(1, rounds + 1):
        await bench.prepare()
        await bench.create("one")
        floor = await raw.measure(await bench.widgets())
        print(floor.line(number, floor), flush=True)
        for who, command, checkout in contenders:
            for row in await Contender(who, command, bench, objects, checkout).measure():
                print(row.line(number, floor), flush=True)
    await client.close()


def _writes(before: Mapping[str, float], after: Mapping[str, float]) -> float:
    return sum(after.get(verb, 0) - before.get(verb, 0) for verb in _WRITES)


def _widget(name: str, value: str) -> Json:
    meta = {"name": name, "namespace": SPACE}
    return {
        "apiVersion": "bench.dev/v1",
        "kind": "Widget",
        "metadata": meta,
        "spec": {"value": value},
    }


def _is_ready(widget: Json, value: str) -> bool:
    ready = find(widget, READY)
    return (
        ready is not None
        and ready.status == "True"
        and ready.observed_generation == widget["metadata"]["generation"]
        and widget["spec"]["value"] == value
    )


async def _started(command: list[str], checkout: Path) -> psutil.Process:
    process = subprocess.Popen(  # noqa: ASYNC220 - it starts in no time
        [sys.executable, *command],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    await _pause(5)
    return psutil.Process(process.pid)


async def _stopped(process: psutil.Process) -> None:
    process.send_signal(signal.SIGINT)
    psutil.wait_procs([process], timeout=20)


def _server_cpu() -> float:
    """Return the CPU seconds of the API server and etcd, which this process has started."""
    children = psutil.Process().children(recursive=True)
    return sum(_cpu(one) for one in children if one.name() in ("kube-apiserver", "etcd"))


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


async def _all(acts: Iterable[Coroutine[Any, Any, Any]]) -> None:
    waiting = iter(list(acts))

    async def work() -> None:
        for act in waiting:
            await act

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work())


async def _pause(seconds: float) -> None:
    await asyncio.sleep(seconds)  # noqa: TID251 - a benchmark runs in real time


def main() -> None:
    """Start a control plane and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--against", type=Path, help="another checkout, measured instead of kopf")
    options = parser.parse_args()
    with ControlPlane(binaries()) as plane:
        os.environ["KUBECONFIG"] = str(plane.kubeconfig)
        asyncio.run(run(options.objects, options.rounds, options.against))


if __name__ == "__main__":
    main()
