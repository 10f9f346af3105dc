"""A controller as it is often written by hand: informers, a queue, and a function.

It lists with resourceVersion=0, as client-go does, keeps a cache per kind, calls ``reconcile`` for an
object whenever the object or a child of it changes, and again after an error.  It has no leader
election, no barrier for its own writes, and no finalizer of its own: what a bug needs.
"""

import asyncio
from collections.abc import Iterable
from typing import Any, ClassVar

import orjson

from myrmidon.api import Json
from myrmidon.api.clock import Clock
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.paths import collection_path
from myrmidon.api.requests.transport import HttpRequest, Transport
from myrmidon.errors import AmbiguousError, MyrmidonError
from myrmidon.io.client import Client

IDLE_SECONDS = 200.0  # a watch that is silent for so long is opened again


class Naive:
    """The base class: subclasses have ``resources``, ``children`` and ``reconcile``."""

    resources: ClassVar[tuple[Any, ...]] = ()
    children: ClassVar[tuple[Kind, ...]] = ()
    first_list: ClassVar[str] = "0"
    """The resourceVersion of its lists: "0" accepts data of any age, "" does not."""

    client: Client
    clock: Clock

    def __init__(self) -> None:
        self.caches: dict[str, dict[str, Json]] = {}
        self._queue: dict[str, None] = {}
        self._changed = asyncio.Event()

    async def reconcile(self, obj: Json) -> None:
        """Do what the object asks for."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------ reading

    def cached(self, kind: Kind, name: str) -> Json | None:
        """Return an object of the cache."""
        return self.caches[kind.kind].get(name)

    def owned(self, kind: Kind, owner: Json) -> list[Json]:
        """Return the cached objects that an object owns."""
        uid = owner["metadata"]["uid"]
        return [
            obj for obj in self.caches[kind.kind].values()
            if any(ref["uid"] == uid for ref in obj["metadata"].get("ownerReferences", ()))
        ]  # fmt: skip

    # ------------------------------------------------------------------------------ writing

    def child(self, owner: Json, kind: Kind, name: str, **content: Any) -> Json:
        """Build a child of an object."""
        meta = owner["metadata"]
        reference = {
            "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"],
            "uid": meta["uid"], "controller": True,
        }  # fmt: skip
        return {
            "apiVersion": kind.api_version, "kind": kind.kind,
            "metadata": {"name": name, "namespace": "default", "ownerReferences": [reference]},
            **content,
        }  # fmt: skip

    async def create(self, kind: Kind, obj: Json) -> Json:
        """Create an object."""
        return await self.client.create(kind, obj)

    async def write_status(self, obj: Json, status: Json) -> Json:
        """Replace the status of an object."""
        kind = self.resources[0].KIND
        return await self.client.update(kind, {**obj, "status": status}, subresource="status")

    # ------------------------------------------------------------------------------ running

    async def run(self, transport: Transport, clock: Clock) -> None:
        """List, watch and reconcile for ever."""
        self.client, self.clock = Client(transport, clock=clock), clock
        self._transport = transport
        kinds = [*(each.KIND for each in self.resources), *self.children]
        for kind in kinds:
            self.caches[kind.kind] = {}
        versions = {kind.kind: await self._list(kind) for kind in kinds}
        async with asyncio.TaskGroup() as group:
            for kind in kinds:
                group.create_task(self._follow(kind, versions[kind.kind]))
            group.create_task(self._work())

    async def _list(self, kind: Kind) -> str:
        while True:
            try:
                query = (("resourceVersion", self.first_list),) if self.first_list else ()
                answer = await self._transport.send(
                    HttpRequest(
                        "GET", collection_path(kind, ""), query, {"accept": "application/json"}
                    )
                )
            except MyrmidonError:
                await self.clock.sleep(1.0)
                continue
            if answer.status == 200:
                break
            await self.clock.sleep(1.0)
        listed = orjson.loads(answer.body)
        gone = {*self.caches[kind.kind]}
        for obj in listed["items"]:
            obj |= {"apiVersion": kind.api_version, "kind": kind.kind}
            gone.discard(obj["metadata"]["name"])
            self._take(kind, "MODIFIED", obj)
        for name in sorted(gone):
            self._take(kind, "DELETED", self.caches[kind.kind][name])
        return str(listed["metadata"]["resourceVersion"])

    async def _follow(self, kind: Kind, version: str) -> None:
        while True:
            query = (("watch", "true"), ("resourceVersion", version), ("timeoutSeconds", "300"))
            try:
                async with self._transport.stream(
                    HttpRequest("GET", collection_path(kind, ""), query)
                ) as stream:
                    if stream.status != 200:
                        raise AmbiguousError(f"the watch was refused: {stream.status}")
                    lines = stream.lines()
                    while True:
                        async with asyncio.timeout(IDLE_SECONDS):
                            event = orjson.loads(await anext(lines))
                        if event["type"] == "ERROR":
                            version = await self._list(kind)
                            break
                        version = event["object"]["metadata"]["resourceVersion"]
                        self._take(kind, event["type"], event["object"])
            except (TimeoutError, StopAsyncIteration):
                continue
            except MyrmidonError:
                await self.clock.sleep(1.0)

    def _take(self, kind: Kind, event: str, obj: Json) -> None:
        name = obj["metadata"]["name"]
        if event == "DELETED":
            self.caches[kind.kind].pop(name, None)
        else:
            self.caches[kind.kind][name] = obj
        for key in self._keys(kind, obj):
            self.enqueue(key)

    def _keys(self, kind: Kind, obj: Json) -> Iterable[str]:
        if kind.kind == self.resources[0].KIND.kind:
            yield obj["metadata"]["name"]
        for owner in obj["metadata"].get("ownerReferences", ()):
            yield owner["name"]

    def enqueue(self, key: str) -> None:
        """Let an object be reconciled."""
        self._queue[key] = None
        self._changed.set()

    async def _later(self, key: str, seconds: float) -> None:
        await self.clock.sleep(seconds)
        self.enqueue(key)

    async def _work(self) -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                self._changed.clear()
                while self._queue:
                    key = next(iter(self._queue))
                    del self._queue[key]
                    obj = self.caches[self.resources[0].KIND.kind].get(key)
                    if obj is None:
                        continue
                    try:
                        await self.reconcile(obj)
                    except (MyrmidonError, OSError):
                        group.create_task(self._later(key, 5.0))
                await self._changed.wait()

    async def resync(self) -> None:
        """Reconcile every object."""
        for key in self.caches[self.resources[0].KIND.kind]:
            self.enqueue(key)


def ref(kind: Kind, name: str) -> ObjectRef:
    """Return a reference in the namespace of the tests."""
    return ObjectRef(kind, name, "default")
