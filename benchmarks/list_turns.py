"""How long does the event loop stand still while a long list is read?

    python benchmarks/list_turns.py [--objects 50000] [--rounds 3]

A transport that holds every answer ready, so that all of the time is our own: a cache with an index
is filled by pages, by a streaming list, or by one answer with the whole list, and a subscriber looks
at each change.  Then the same list comes again without half of its objects.  Prints the seconds of
each, the longest turn of the event loop, and the memory per object; the best of all rounds.  Times are
CPU time: on a shared machine the clock would also count the turns of others.
"""

import argparse
import asyncio
import gc
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from random import Random

import orjson
import psutil

from myrmidon.api.objects.kinds import CONFIG_MAP
from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream
from myrmidon.errors import TransportError
from myrmidon.io import Caches, Client, Subscription, by_owner
from myrmidon.io.watch.protocol import Timing

PAGE_SIZE = 500
WAYS = ("pages", "stream", "whole")


def item(number: int) -> dict[str, object]:
    """Build a ConfigMap of 1 KB, owned by one of a hundred parents."""
    owner = {"apiVersion": "v1", "kind": "Parent", "name": "p", "uid": f"owner-{number % 100}"}
    meta = {
        "name": f"cm-{number:06}",
        "namespace": "bench",
        "uid": f"{number:08}-0000-4000-8000-000000000000",
        "resourceVersion": str(1000 + number),
        "labels": {"app": "bench"},
        "ownerReferences": [{**owner, "controller": True}],
    }
    return {"metadata": meta, "data": {"text": "x" * 1000}}


class Prepared:
    """A transport whose responses were built before the clock started."""

    def __init__(self, objects: int, page_size: int) -> None:
        items = [orjson.dumps(item(number)) for number in range(objects)]
        self.first, self.second = items, items[::2]
        self.page_size, self.round, self.lists = page_size, 0, 0
        self.over = asyncio.Event()
        self.version = str(10_000_000)

    def prepare(self) -> None:
        """Build the responses of the next list."""
        items = self.second if self.round else self.first
        self.version = str(10_000_000 + self.round)
        meta = {"resourceVersion": self.version}
        size = self.page_size or len(items)
        self.pages = []
        for start in range(0, len(items), size):
            last = start + size >= len(items)
            told = {**meta, "continue": "" if last else str(start // size + 1)}
            head = b'{"kind":"ConfigMapList","apiVersion":"v1","metadata":' + orjson.dumps(told)
            body = b",".join(items[start : start + size])
            self.pages.append(head + b',"items":[' + body + b"]}")
        end = {"annotations": {"k8s.io/initial-events-end": "true"}, **meta}
        self.lines = [b'{"type":"ADDED","object":' + one + b"}" for one in items]
        self.lines.append(orjson.dumps({"type": "BOOKMARK", "object": {"metadata": end}}))
        self.round += 1

    async def send(
        self,
        request: HttpRequest,
        *,
        deadline: float | None = None,  # noqa: ARG002  part of the protocol
    ) -> HttpResponse:
        """Return the requested page."""
        token = dict(request.query).get("continue", "")
        return HttpResponse(200, (), self.pages[int(token or 0)])

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[ResponseStream]:
        """A watch, or a streaming list."""
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: HttpRequest) -> AsyncIterator[ResponseStream]:
        yield _Stream(self, dict(request.query))

    async def close(self) -> None:
        """Nothing to close."""


class _Stream:
    def __init__(self, prepared: Prepared, query: dict[str, str]) -> None:
        self.status = 200
        self.headers: tuple[tuple[str, str], ...] = ()
        self._prepared, self._initial = prepared, "sendInitialEvents" in query

    async def lines(self) -> AsyncIterator[bytes]:
        if self._initial:
            for number, line in enumerate(self._prepared.lines):
                if number % 200 == 0:  # about as many as a socket returns at once
                    await asyncio.sleep(0)  # noqa: TID251  gives way, as a socket would
                yield line
        await self._prepared.over.wait()
        self._prepared.over.clear()
        gone = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}
        yield orjson.dumps(gone)

    async def read(self) -> bytes:
        return b""


class Turns:
    """The longest turn of the running event loop, measured by a task that never stops."""

    def __init__(self) -> None:
        self.longest = 0.0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Measure every turn of a block."""
        loop, self.longest = asyncio.get_running_loop(), 0.0
        last = time.thread_time()
        handle: asyncio.Handle | None = None

        def tick() -> None:
            nonlocal last, handle
            now = time.thread_time()
            self.longest, last = max(self.longest, now - last), now
            handle = loop.call_soon(tick)

        tick()
        yield
        assert handle is not None
        handle.cancel()
        self.longest = max(self.longest, time.thread_time() - last)


async def until(condition: Callable[[], bool]) -> None:
    """Wait without a timer."""
    while not condition():  # noqa: ASYNC110  what it waits for has no event
        await asyncio.sleep(0)  # noqa: TID251  gives way without waiting


async def measure(way: str, objects: int) -> dict[str, float]:
    """Fill a cache in one way, then remove half of it."""
    prepared = Prepared(objects, 0 if way == "whole" else PAGE_SIZE)
    prepared.prepare()
    client, turns = Client(prepared), Turns()
    caches = Caches(
        client, rng=Random(1), timing=Timing(), streaming=way == "stream", page_size=PAGE_SIZE
    )
    view = caches.view(CONFIG_MAP, indexes={"owner": by_owner})
    heard = Subscription()
    view.subscribe(heard)
    gc.collect()
    process = psutil.Process()
    before = process.memory_info().rss
    seen = 0

    async def read() -> None:
        nonlocal seen
        async for change in heard:
            assert change.before or change.after
            seen += 1

    found: dict[str, float] = {}
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(read())]
        with turns.watched():
            started = time.thread_time()
            tasks.append(group.create_task(caches.run()))
            await until(lambda: view.is_synced and seen == objects)
            found["first s"] = time.thread_time() - started
        found["first turn ms"] = 1000 * turns.longest
        gc.collect()
        found["bytes"] = (process.memory_info().rss - before) / objects
        prepared.prepare()
        gc.collect()
        with turns.watched():
            started = time.thread_time()
            prepared.over.set()
            await until(lambda: len(view) == len(prepared.second) and len(heard) == 0)
            found["again s"] = time.thread_time() - started
        found["again turn ms"] = 1000 * turns.longest
        for task in tasks:
            task.cancel()
    health = caches.health()[0]
    assert not isinstance(health.fault, TransportError), health.fault
    return found


def main() -> None:
    """Measure everything and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--objects", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", choices=WAYS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(asyncio.run(measure(options.one, options.objects))))
        return
    best: dict[str, dict[str, float]] = {}
    for _ in range(options.rounds):
        for way in WAYS:
            command = [sys.executable, __file__, "--one", way, "--objects", str(options.objects)]
            figures = json.loads(subprocess.check_output(command))
            known = best.setdefault(way, figures)
            best[way] = {name: min(known[name], figures[name]) for name in figures}
    print(f"{'':8}" + "".join(f"{name:>16}" for name in next(iter(best.values()))))
    for way, row in best.items():
        print(f"{way:8}" + "".join(f"{value:16.2f}" for value in row.values()))


if __name__ == "__main__":
    main()
