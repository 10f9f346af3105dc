"""What does a validating webhook add to a write?  Creates on a real kube-apiserver, with and without.

    python -m benchmarks.webhooks [--rate 200] [--seconds 20] [--rounds 2]

ConfigMaps are created in a dry run, at a constant rate, whatever the answers take: first without a
webhook, then with a validator of myrmidon, then with the same validator of kopf.  ``CPU per call`` is
that of the process that serves the webhook.  The load, the API server and the webhook share the
machine, so compare within one run.
"""

import argparse
import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import psutil

from myrmidon.api.objects import kinds
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.errors import InvalidError, NotFoundError
from myrmidon.io.access.kubeconfig import load_endpoint
from myrmidon.io.client import Client
from myrmidon.io.http.transport import HttpTransport
from myrmidon.io.timers.clock import LoopClock
from myrmidon.runtime.webhooks.authority import carried_out
from myrmidon.runtime.webhooks.rotation import CertificateTerms, RotationStep
from tests.cluster.controlplane.binaries import find as binaries
from tests.cluster.controlplane.controlplane import ControlPlane

CONFIGURATION: Kind = kinds.VALIDATING_WEBHOOK_CONFIGURATION
_WARM_SECONDS = 3.0


class Row(NamedTuple):
    """The result of one run."""

    name: str
    latencies: list[float]
    cpu_seconds: float

    def line(self) -> str:
        """Return the row of the table."""
        ordered = sorted(self.latencies)
        p50, p99 = (ordered[int(len(ordered) * part)] * 1000 for part in (0.5, 0.99))
        per_call = self.cpu_seconds / len(ordered) * 1e6
        cpu = f"{per_call:8.0f} µs" if self.cpu_seconds else f"{'-':>11}"
        return f"{self.name:12} {len(ordered):7} {p50:8.2f} ms {p99:8.2f} ms {cpu}"


async def load(client: Client, rate: int, seconds: float) -> list[float]:
    """Create ConfigMaps at a constant rate; return how long each took."""
    latencies: list[float] = []
    loop = asyncio.get_running_loop()

    async def create(number: int) -> None:
        began = loop.time()
        await client.create(kinds.CONFIG_MAP, _config_map(f"bench-{number}"), dry_run=True)
        latencies.append(loop.time() - began)

    began = loop.time()
    async with asyncio.TaskGroup() as group:
        for number in range(int(rate * seconds)):
            await asyncio.sleep(max(0.0, began + number / rate - loop.time()))  # noqa: TID251
            group.create_task(create(number))
    return latencies


async def measured(
    name: str, client: Client, process: psutil.Process | None, rate: int, seconds: float
) -> Row:
    """Warm up, then measure."""
    if process is not None:
        await _until_called(client)
    await load(client, rate, _WARM_SECONDS)
    before = _cpu(process)
    latencies = await load(client, rate, seconds)
    return Row(name, latencies, _cpu(process) - before)


async def run(plane: ControlPlane, rate: int, seconds: float, rounds: int) -> None:
    """Measure each, in turn."""
    transport = HttpTransport(await load_endpoint(str(plane.kubeconfig), None))
    client = Client(transport)
    print(f"{rate} creates per second for {seconds:g} s, {rounds} rounds")
    print(f"{'':12} {'calls':>7} {'p50':>11} {'p99':>11} {'CPU per call':>11}")
    for _ in range(rounds):
        print((await measured("no webhook", client, None, rate, seconds)).line(), flush=True)
        for name, command in (("myrmidon", _myrmidon), ("kopf", _kopf)):
            with ExitStack() as stack:
                process = command(stack, plane.kubeconfig)
                row = await measured(name, client, process, rate, seconds)
            print(row.line(), flush=True)
            for configuration in await client.list(CONFIGURATION):
                found = configuration["metadata"]["name"]
                await client.delete(ObjectRef(CONFIGURATION, found))
    await transport.close()


def _myrmidon(stack: ExitStack, kubeconfig: Path) -> psutil.Process:
    url = f"https://127.0.0.1:{_free_port()}"
    arguments = ["run", "benchmarks.webhook_rules", "--webhook-url", url]
    quiet = ["--metrics-addr", "", "--health-addr", "", "--log-level", "error"]
    return _started(stack, ["-m", "myrmidon", *arguments, *quiet], kubeconfig)


def _kopf(stack: ExitStack, kubeconfig: Path) -> psutil.Process:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    made = carried_out(
        RotationStep.CREATE, {}, LoopClock().now(), ("127.0.0.1",), CertificateTerms()
    )
    for name, content in made.items():
        (folder / name).write_bytes(content)
    arguments = ["run", "--quiet", "--all-namespaces", "benchmarks/kopf_webhook.py"]
    more = {"BENCH_CERTIFICATES": str(folder), "BENCH_PORT": str(_free_port())}
    return _started(stack, ["-m", "kopf", *arguments], kubeconfig, **more)


def _started(stack: ExitStack, command: list[str], kubeconfig: Path, **more: str) -> psutil.Process:
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), **more}
    started = subprocess.Popen([sys.executable, *command], env=environment)
    stack.callback(started.wait, 20)
    stack.callback(started.send_signal, signal.SIGINT)
    return psutil.Process(started.pid)


async def _until_called(client: Client) -> None:
    """Wait until the webhook refuses a ConfigMap without data."""
    ends_at = time.monotonic() + 60
    while time.monotonic() < ends_at:
        try:
            made = {**_config_map("empty"), "data": {}}
            await client.create(kinds.CONFIG_MAP, made, dry_run=True)
        except (InvalidError, NotFoundError):
            return
        await asyncio.sleep(0.1)  # noqa: TID251 - a benchmark in real time
    raise TimeoutError("the webhook is not called")


def _config_map(name: str) -> dict[str, object]:
    meta = {"name": name, "namespace": "default", "labels": {"bench": "yes"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "b"}}


def _cpu(process: psutil.Process | None) -> float:
    if process is None:
        return 0.0
    times = process.cpu_times()
    return float(times.user + times.system)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def main() -> None:
    """Start a control plane, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    with ControlPlane(binaries()) as plane:
        asyncio.run(run(plane, args.rate, args.seconds, args.rounds))


if __name__ == "__main__":
    main()
