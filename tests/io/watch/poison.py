"""Malformed responses, and a transport that sends them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import orjson
from hypothesis import strategies as st

from myrmidon.api.objects.kinds import CONFIG_MAP
from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream
from myrmidon.io.client import Client
from myrmidon.io.timers.clock import LoopClock
from myrmidon.io.watch.cache import Cache
from myrmidon.io.watch.changes import Change
from myrmidon.io.watch.reflector import Reflector
from tests.io.model_server import config_map

NOW = "1000"
END = orjson.dumps(
    {
        "type": "BOOKMARK",
        "object": {
            "metadata": {
                "resourceVersion": NOW,
                "annotations": {"k8s.io/initial-events-end": "true"},
            }
        },
    }
)


def meta(name: str = "odd", **fields: Any) -> dict[str, Any]:
    """Build metadata of an object, with the given fields replaced."""
    return {"name": name, "namespace": "ns", "uid": f"{name}-uid", "resourceVersion": "7"} | fields


def nested(levels: int) -> bytes:
    """Build a JSON value that is nested so deeply."""
    return b'{"a":' * levels + b"1" + b"}" * levels


def with_spec(spec: bytes, name: str = "odd", version: str = "7") -> bytes:
    """Build an object with this text as its spec."""
    return (
        b'{"metadata":'
        + orjson.dumps(meta(name, resourceVersion=version))
        + b',"spec":'
        + spec
        + b"}"
    )


def with_meta(**fields: Any) -> bytes:
    """Build an object whose metadata has these fields."""
    return orjson.dumps({"metadata": meta(**fields)})


def list_of(*items: bytes, version: str = NOW) -> bytes:
    """Build the response to a list."""
    head = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": version}}
    return orjson.dumps(head)[:-1] + b',"items":[' + b",".join(items) + b"]}"


def added(item: bytes, type_: str = "ADDED") -> bytes:
    """Build a line of a watch."""
    return b'{"type":"' + type_.encode() + b'","object":' + item + b"}"


def good(name: str = "good", version: int = 20) -> bytes:
    """Build a valid object."""
    return orjson.dumps(config_map(name, f"{name}-uid", version))


class Bytes:
    """A transport that sends bytes: ``lists`` in order, the last one repeated; ``lines`` once.

    The first stream sends ``lines`` and stays open; later ones send only what ``put`` adds.
    """

    def __init__(
        self,
        *lists: bytes | HttpResponse,
        lines: list[bytes] | None = None,
        streaming: bool = False,
    ) -> None:
        self.lists = [
            one if isinstance(one, HttpResponse) else HttpResponse(200, (), one) for one in lists
        ]
        self.lines = lines or []
        self.streaming = streaming
        self.requests: list[HttpRequest] = []
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """The next list."""
        self.requests.append(request)
        await asyncio.sleep(0)  # noqa: TID251  gives way, as a socket would
        return self.lists.pop(0) if len(self.lists) > 1 else self.lists[0]

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[ResponseStream]:
        """A watch."""
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: HttpRequest) -> AsyncIterator[ResponseStream]:
        self.requests.append(request)
        await asyncio.sleep(0)  # noqa: TID251  gives way, as a socket would
        lines, self.lines = self.lines, []
        yield _Lines(lines, self.queue)

    async def close(self) -> None:
        """Nothing to close."""


class _Lines:
    def __init__(self, lines: list[bytes], queue: "asyncio.Queue[bytes | None]") -> None:
        self.status = 200
        self.headers: tuple[tuple[str, str], ...] = ()
        self._lines, self._queue = lines, queue

    async def lines(self) -> AsyncIterator[bytes]:
        for line in self._lines:
            yield line
        while (more := await self._queue.get()) is not None:
            yield more

    async def read(self) -> bytes:
        return b""


class Reflected:
    """A reflector on such a transport, in virtual time."""

    def __init__(self, transport: Bytes, **options: Any) -> None:
        self.transport = transport
        self.cache = Cache(CONFIG_MAP, **options)
        self.changes: list[Change] = []
        clock = LoopClock()
        self.reflector = Reflector(
            Client(transport, clock=clock),
            self.cache,
            clock=clock,
            jitter=lambda: 0.5,
            sink=self.changes.extend,
            streaming=transport.streaming,
        )

    def names(self) -> list[str]:
        """Return the names of all cached objects, readable or not."""
        return sorted(name for _, name in self.cache.keys())  # noqa: SIM118  no dictionary

    async def runs_for(self, seconds: float) -> None:
        """Run the reflector for so long; raise what ends it."""
        task = asyncio.get_running_loop().create_task(self.reflector.run())
        try:
            await asyncio.sleep(seconds)  # noqa: TID251  virtual time
            assert not task.done(), task
        finally:
            task.cancel()
            await asyncio.wait([task])
        if not task.cancelled():
            task.result()


WORDS = [
    *("metadata", "name", "namespace", "uid", "resourceVersion", "labels", "annotations"),
    *("ownerReferences", "finalizers", "generation", "items", "object", "type", "continue", "kind"),
    *("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "code", "details", "causes", "spec"),
    *("k8s.io/initial-events-end", "true", "retryAfterSeconds", "good", NOW, str(2**63)),
]


def json_values() -> st.SearchStrategy[Any]:
    """Draw any JSON, with words of the protocol in it."""
    words = st.sampled_from(WORDS)
    leaves = (
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | words | st.text(max_size=5)
    )
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    return st.recursive(
        leaves | numbers,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4),
        max_leaves=12,
    )


def spoiled(value: Any, other: Any, draw: st.DataObject) -> Any:
    """Return the value with another one in place of one of its parts."""
    if not isinstance(value, dict | list) or not value or draw.draw(st.integers(0, 3)) == 0:
        return other
    places = sorted(value) if isinstance(value, dict) else range(len(value))
    place = draw.draw(st.sampled_from(list(places)))
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[place] = spoiled(value[place], other, draw)
    return copy
