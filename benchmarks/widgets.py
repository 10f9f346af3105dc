"""How much does a framework add to its own writes?  The Widget job on a real kube-apiserver.

    python -m benchmarks.widgets [--objects 500] [--rounds 2]

N Widgets, three ConfigMaps each, then Ready: created, changed, and seen again by a new process.
``raw`` is the floor: a bare client that sends the three creates and the status, and knows nothing.
Absolute figures say little on a shared machine; compare within one run.
"""

import argparse
import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from benchmarks.widget import Widget
from myrmidon.api import Json, ObjectRef, kinds
from myrmidon.api.conditions import READY, find
from myrmidon.api.requests import collection_path
from myrmidon.api.wire import HttpRequest
from myrmidon.errors import AlreadyExistsError
from myrmidon.generate import crd
from myrmidon.io.client import Client
from myrmidon.io.config import load_endpoint
from myrmidon.io.http import HttpTransport
from tests.cluster.controlplane.binaries import find as binaries
from tests.cluster.controlplane.controlplane import ControlPlane

HERE, SPACE, AT_ONCE = Path(__file__).parent, "bench", 16
MYRMIDON = [
    "-m", "myrmidon", "run", "benchmarks.widget:Widgets", "--namespace", SPACE, "--workers", "16",
    "--metrics-addr", "", "--health-addr", "",
]  # fmt: skip
KOPF = ["-m", "kopf", "run", "-q", "-n", SPACE, "--standalone", str(HERE / "kopf_widgets.py")]
_COUNTED = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)
_WRITES = ("POST", "PUT", "PATCH", "APPLY")


class Bench:
    """The user of the cluster: makes Widgets, waits for them, counts requests."""

    def __init__(self, client: Client, objects: int) -> None:
        self._client, self._names = client, [f"w{number:05}" for number in range(objects)]

    async def prepare(self) -> None:
        """A cluster without Widgets."""
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
        """Make all Widgets."""
        await _all(self._client.create(Widget.KIND, _widget(name, value)) for name in self._names)

    async def change(self, value: str) -> None:
        """Change all Widgets."""
        refs = [ObjectRef(Widget.KIND, name, SPACE) for name in self._names]
        await _all(self._client.patch(ref, {"spec": {"value": value}}) for ref in refs)

    async def wait_ready(self, value: str) -> None:
        """Wait until all are Ready for what they say now."""
        while True:
            widgets = await self._client.list(Widget.KIND, SPACE)
            if sum(_is_ready(widget, value) for widget in widgets) == len(self._names):
                return
            await _pause(0.25)

    async def requests(self) -> dict[str, float]:
        """Requests by verb, as the API server itself counted them."""
        answer = await self._client.fetch(HttpRequest("GET", "/metrics"))
        found: dict[str, float] = {}
        for labels, count in _COUNTED.findall(answer.body.decode()):
            said = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            if said.get("resource") in ("widgets", "configmaps"):
                found[said["verb"]] = found.get(said["verb"], 0.0) + float(count)
        return found

    async def raw(self) -> tuple[float, float]:
        """Objects per second and CPU milliseconds per object of a client that knows everything."""
        widgets = await self._client.list(Widget.KIND, SPACE)
        started, cpu = time.perf_counter(), time.process_time()
        await _all(self._raw(widget) for widget in widgets)
        seconds = time.perf_counter() - started
        return len(widgets) / seconds, (time.process_time() - cpu) * 1000 / len(widgets)

    async def _raw(self, widget: Json) -> None:
        name, uid = widget["metadata"]["name"], widget["metadata"]["uid"]
        owner = {
            "apiVersion": "bench.dev/v1",
            "kind": "Widget",
            "name": name,
            "uid": uid,
            "controller": True,
        }
        for letter in "abc":
            meta = {"name": f"{name}-{letter}", "namespace": SPACE, "ownerReferences": [owner]}
            body = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": meta,
                "data": {"value": "one"},
            }
            await self._client.create(kinds.CONFIG_MAP, body)
        ready = {
            "type": "Ready",
            "status": "True",
            "reason": "Done",
            "message": "",
            "observedGeneration": 1,
        }
        ref, status = ObjectRef(Widget.KIND, name, SPACE), {"status": {"conditions": [ready]}}
        await self._client.patch(ref, status, subresource="status")


async def measure(bench: Bench, command: list[str], objects: int) -> list[str]:
    """One contender: create, change, restart."""
    await bench.prepare()
    process = await _started(command)
    row: list[str] = []
    for value, act in (("one", bench.create), ("two", bench.change)):
        before, cpu, started = await bench.requests(), _cpu(process), time.perf_counter()
        await act(value)
        await bench.wait_ready(value)
        rate = objects / (time.perf_counter() - started)
        await _pause(3)
        after, spent = await bench.requests(), _cpu(process) - cpu
        writes = sum(after.get(verb, 0) - before.get(verb, 0) for verb in _WRITES) / objects - 1
        reads = (after.get("GET", 0) - before.get("GET", 0)) / objects
        row += [f"{rate:.0f}", f"{writes:.2f}", f"{reads:.2f}", f"{spent * 1000 / objects:.1f}"]
    await _stopped(process)
    before = await bench.requests()
    process = await _started(command)
    await _pause(8)
    after = await bench.requests()
    row.append(f"{sum(after.get(verb, 0) - before.get(verb, 0) for verb in _WRITES):.0f}")
    await _stopped(process)
    return row


async def run(objects: int, rounds: int) -> None:
    """Print the table."""
    transport = HttpTransport(await load_endpoint())
    bench = Bench(Client(transport, deadline_seconds=120), objects)
    print(
        f"{objects} Widgets, three ConfigMaps each; writes and reads per Widget, CPU in ms per Widget\n"
    )
    print(
        "| round | who | create/s | writes | reads | CPU | change/s | writes | reads | CPU | restart writes |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for number in range(1, rounds + 1):
        await bench.prepare()
        await bench.create("one")
        rate, cpu = await bench.raw()
        print(f"| {number} | raw | {rate:.0f} | 4.00 | 0.00 | {cpu:.1f} | | | | | |", flush=True)
        for who, command in (("myrmidon", MYRMIDON), ("kopf", KOPF)):
            row = await measure(bench, command, objects)
            print(f"| {number} | {who} | {' | '.join(row)} |", flush=True)
    await transport.close()


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


async def _started(command: list[str]) -> psutil.Process:
    process = subprocess.Popen(  # noqa: ASYNC220 - it starts in no time
        [sys.executable, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    await _pause(5)
    return psutil.Process(process.pid)


async def _stopped(process: psutil.Process) -> None:
    process.send_signal(signal.SIGINT)
    psutil.wait_procs([process], timeout=20)


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
    options = parser.parse_args()
    with ControlPlane(binaries()) as plane:
        os.environ["KUBECONFIG"] = str(plane.kubeconfig)
        asyncio.run(run(options.objects, options.rounds))


if __name__ == "__main__":
    main()
