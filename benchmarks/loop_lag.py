"""How long is the longest turn of the event loop at a restart?  ``python -m benchmarks.loop_lag``.

A manager with leader election and the default terms starts over objects that are all converged: it
lists them, has one pass over each and writes nothing but its Lease.  The server is another process that
answers from prepared bytes, so what is measured is the controller alone, over real sockets.

A turn is the time between two looks of the loop at its sockets.  While one lasts, no lease is renewed and
no probe is answered.  It is measured twice: as CPU time of the thread, which is the length that our
code is to blame for, and as wall time, in which a busy machine shows, too.  Collections of garbage by
Python are listed beside the turns that they were part of.

The first start waits for its election: a process takes a Lease only after it has seen it unchanged
for a lease duration (15 s).  That wait is printed by itself.  A renewal is missed if the time between
two writes of the held Lease has room for another one.
"""

import argparse
import asyncio
import gc
import json
import multiprocessing
import selectors
import time
from collections.abc import AsyncIterator
from itertools import pairwise
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from aiohttp import web

from benchmarks.widget import Widget, WidgetSpec
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.errors import LeadershipLostError
from myrmidon.fsm import Controller, Done, Result, state
from myrmidon.io.access.kubeconfig import Endpoint
from myrmidon.io.http.transport import HttpTransport
from myrmidon.runtime import Manager, ManagerOptions
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness

TURN_MILLISECONDS_MAX = 50
_TOP = 5
_CHUNK_LINES = 200


class Labels(Controller[Widget]):
    """One ConfigMap for each Widget."""

    manages = (kinds.CONFIG_MAP,)

    @state(initial=True, condition="Written")
    def written(self, widget: Widget, out: OutputSet) -> Result:
        """The ConfigMap holds the value."""
        name, data = {"name": widget.name}, {"value": widget.spec.value}
        out.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": name, "data": data})
        return Done()


# ------------------------------------------------------------------------------ the server


def converged(count: int) -> dict[str, list[Json]]:
    """Return so many converged Widgets with one child each, by the plural of the kind."""
    with Harness(Labels()) as cluster:
        cluster.apply(Widget(name="original", spec=WidgetSpec(value="one")))
        cluster.settle()
        cluster.at_rest()
        pattern = json.dumps([cluster.list(Widget)[0], cluster.get(kinds.CONFIG_MAP, "original")])
    uids = [json.loads(pattern)[place]["metadata"]["uid"] for place in (0, 1)]
    found: dict[str, list[Json]] = {"widgets": [], "configmaps": []}
    for number in range(count):
        text = pattern.replace("original", f"w-{number:06d}")
        for place, uid in enumerate(uids):
            text = text.replace(uid, f"00000000-0000-4000-800{place}-{number:012d}")
        for plural, obj in zip(found, json.loads(text), strict=True):
            obj["metadata"]["resourceVersion"] = str(1000 + number)
            found[plural].append(obj)
    return found


class Prepared:
    """The part of an API server that the benchmark needs: lists, watches and one Lease."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._version = str(2000 + count)
        self._lines: dict[str, list[bytes]] = {}
        for plural, objects in converged(count).items():
            self._lines[plural] = [json.dumps(obj).encode() for obj in objects]
        self._lease: Json | None = None
        self._leases = 0
        self.lease_created_at = 0.0
        self.held_at: list[float] = []
        """When the Lease was taken, and each time that it was renewed."""
        self.writes: list[str] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer any request."""
        if "/leases" in request.path:
            return await self._answer_lease(request)
        plural = request.path.rpartition("/")[2]
        if request.method != "GET" or plural not in self._lines:
            self.writes.append(f"{request.method} {request.path}")
            return web.json_response({"kind": "Status", "code": 404}, status=404)
        if "watch" in request.query:
            return await self._watch(request, plural)
        return self._list(request, plural)

    def _list(self, request: web.Request, plural: str) -> web.Response:
        limit = int(request.query.get("limit") or self._count)
        start = int(request.query.get("continue") or 0)
        page = self._lines[plural][start : start + limit]
        more = str(start + limit) if start + limit < self._count else ""
        meta = json.dumps({"resourceVersion": self._version, "continue": more}).encode()
        body = b'{"kind":"List","metadata":%s,"items":[%s]}' % (meta, b",".join(page))
        return web.Response(body=body, content_type="application/json")

    async def _watch(self, request: web.Request, plural: str) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        if request.query.get("sendInitialEvents") == "true":
            lines = self._lines[plural]
            for start in range(0, len(lines), _CHUNK_LINES):
                chunk = lines[start : start + _CHUNK_LINES]
                await response.write(
                    b"".join(b'{"type":"ADDED","object":%s}\n' % line for line in chunk)
                )
            end = {"k8s.io/initial-events-end": "true"}
            metadata = {"resourceVersion": self._version, "annotations": end}
            bookmark = {"type": "BOOKMARK", "object": {"kind": "X", "metadata": metadata}}
            await response.write(json.dumps(bookmark).encode() + b"\n")
        await asyncio.Event().wait()
        return response

    async def _answer_lease(self, request: web.Request) -> web.Response:
        if request.method in {"POST", "PUT"}:
            self._leases += 1
            lease = await request.json()
            lease["metadata"]["resourceVersion"] = str(self._leases)
            lease["metadata"].setdefault("uid", "lease")
            self._lease = lease
            if request.method == "POST":
                self.lease_created_at = time.monotonic()
            if lease["spec"].get("holderIdentity"):
                self.held_at.append(time.monotonic())
        if self._lease is None:
            return web.json_response({"kind": "Status", "code": 404}, status=404)
        return web.json_response(self._lease)


def serve(count: int, pipe: Connection) -> None:
    """Run the server, in its own process, until a message arrives; then report and end."""
    prepared = Prepared(count)

    async def main() -> None:
        application = web.Application(client_max_size=1 << 30)
        application.router.add_route("*", "/{path:.*}", prepared.answer)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        pipe.send(runner.addresses[0][1])
        await asyncio.get_running_loop().run_in_executor(None, pipe.recv)
        pipe.send((prepared.lease_created_at, prepared.held_at, prepared.writes))
        await runner.cleanup()

    gc.disable()
    asyncio.run(main())


# -------------------------------------------------------------------------- the controller


class Turn(NamedTuple):
    """One turn of the event loop, in seconds."""

    cpu: float
    wall: float
    garbage: float  # CPU time of the collections during the turn
    ended_at: float

    @property
    def own(self) -> float:
        """CPU time without the collections."""
        return self.cpu - self.garbage


class TimedSelector(selectors.DefaultSelector):
    """A selector that measures the time between two polls."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: list[Turn] = []
        self._since: tuple[float, float] | None = None
        self._garbage = 0.0
        self._collecting_since = 0.0
        gc.callbacks.append(self._on_garbage)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Record the turn that ends here; poll; begin the next."""
        if self._since is not None:
            now = time.perf_counter()
            cpu, wall = time.thread_time() - self._since[0], now - self._since[1]
            self.turns.append(Turn(cpu, wall, self._garbage, now))
            self._garbage = 0.0
        found = super().select(timeout)
        self._since = time.thread_time(), time.perf_counter()
        return found

    def _on_garbage(self, phase: str, _info: Any) -> None:
        if phase == "start":
            self._collecting_since = time.thread_time()
        else:
            self._garbage += time.thread_time() - self._collecting_since


async def restart(port: int, count: int, report: dict[str, Any]) -> None:
    """Run a manager until it has had a pass over each object and is idle."""
    transport = HttpTransport(Endpoint(f"http://127.0.0.1:{port}"))
    manager = Manager(
        ManagerOptions(leader_election=True, freeze_garbage=True, seed=0), transport=transport
    )
    manager.add(Labels())
    passes = manager.metrics.reconcile_total.labels("widget", "success")
    began = report["began"] = time.perf_counter()
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(manager.run())
            await manager.wait_working()
            report["working"] = time.perf_counter() - began
            async for _ in ticks():
                if passes.count >= count and manager.is_idle:
                    break
            report["rest"] = time.perf_counter() - began
            manager.stop()
    except* LeadershipLostError as lost:
        report["lost"] = str(lost.exceptions[0])
    report["passes"] = int(passes.count)
    await transport.close()


async def ticks() -> AsyncIterator[None]:
    """Yield ten times a second."""
    while True:
        yield
        await asyncio.sleep(0.1)  # noqa: TID251  in real time


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=50_000)
    args = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=serve, args=(args.objects, theirs), daemon=True)
    server.start()
    theirs.close()  # so that recv() raises if the server dies
    port: int = ours.recv()
    selector, report = TimedSelector(), dict[str, Any]()
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        runner.run(restart(port, args.objects, report))
    ours.send("end")
    created_at, held_at, writes = ours.recv()
    server.join(timeout=10)
    tell(args.objects, selector.turns, report, writes)
    tell_lease(created_at, held_at, report)


def tell(
    count: int,
    turns: list[Turn],
    report: dict[str, Any],
    writes: list[str],
) -> None:
    """Print the passes and the turns of the event loop."""
    own, wall = max(turn.own for turn in turns), max(turn.wall for turn in turns)
    print(f"restart over {count} converged objects with one child each, leader election on")
    print(f"  passes                     {report['passes']}")
    print(f"  workers started after      {report.get('working', 0):.1f} s")
    print(f"  at rest after              {report.get('rest', float('nan')):.1f} s")
    print(f"  turns of the event loop    {len(turns)}")
    print(f"  longest turn, own CPU      {own * 1000:.0f} ms (wanted: {TURN_MILLISECONDS_MAX})")
    print(f"  longest turn, wall time    {wall * 1000:.0f} ms")
    for turn in sorted(turns, reverse=True)[:_TOP]:
        cpu, garbage = turn.cpu * 1000, turn.garbage * 1000
        ended = turn.ended_at - report["began"]
        print(f"    {cpu:7.0f} ms CPU, of which garbage {garbage:.0f} ms; ended at {ended:.1f} s")
    print(f"  writes besides the lease   {len(writes)}{' ' + writes[0] if writes else ''}")


def tell_lease(created_at: float, held_at: list[float], report: dict[str, Any]) -> None:
    """Print the wait for the election, and how regularly the Lease was renewed after that."""
    gaps = [later - earlier for earlier, later in pairwise(held_at)]
    waited = held_at[0] - created_at if held_at else float("nan")
    print(f"  election waited            {waited:.1f} s")
    print(f"  lease renewals             {len(gaps)}, longest gap {max(gaps, default=0.0):.1f} s")
    print(f"  lease renewals missed      {missed_renewals(gaps)}")
    print(f"  lease lost                 {report.get('lost', 'no')}")


def missed_renewals(gaps: list[float]) -> int:
    """Return how many more renewals the times between two writes of the held Lease had room for."""
    retry = ManagerOptions().terms.retry_seconds
    return sum(int(gap / retry) - 1 for gap in gaps if gap > 2 * retry)


if __name__ == "__main__":
    main()
