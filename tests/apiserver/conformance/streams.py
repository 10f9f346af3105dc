"""A watch that a scenario reads from time to time while it is open."""

import asyncio
import json
from typing import Any

from myrmidon.api.requests.transport import HttpRequest, ResponseStream, Transport

_INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class Stream:
    """Reads a watch in the background; belongs to a task group."""

    def __init__(self, transport: Transport, request: HttpRequest) -> None:
        self._transport, self._request = transport, request
        self._changed = asyncio.Event()
        self._taken = 0
        self.events: list[dict[str, Any]] = []
        self.opened = asyncio.Event()
        self.closed = False
        self.status = 0
        self.headers: tuple[tuple[str, str], ...] = ()
        self.body = b""
        self.task: asyncio.Task[None] | None = None

    async def read(self) -> None:
        """Read until either side closes."""
        try:
            async with self._transport.stream(self._request) as response:
                self.status, self.headers = response.status, response.headers
                if response.status != 200:
                    self.body = await response.read()
                self.opened.set()
                if response.status == 200:
                    await self._lines(response)
        finally:
            self.closed = True
            self.opened.set()
            self._changed.set()

    async def _lines(self, response: ResponseStream) -> None:
        async for line in response.lines():
            if line.strip():
                self.events.append(json.loads(line))
                self._changed.set()

    def close(self) -> None:
        """Stop reading."""
        if self.task is not None:
            self.task.cancel()

    async def collect(
        self, until: dict[str, Any], seconds: float
    ) -> tuple[list[dict[str, Any]], bool]:
        """Return the events since the last call up to the expected one, and whether it came."""
        end: int | None = None
        try:
            async with asyncio.timeout(seconds):
                while (end := self._end(until)) is None and not self.closed:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            pass
        end = self._end(until)
        start, self._taken = self._taken, len(self.events) if end is None else end
        return self.events[start : self._taken], end is not None

    def _end(self, until: dict[str, Any]) -> int | None:
        if until.get("closed"):
            return len(self.events) if self.closed else None
        counted = 0
        for index in range(self._taken, len(self.events)):
            event = self.events[index]
            counted += event["type"] != "BOOKMARK"
            if _is_end(event, until, counted):
                return index + 1
        return None


def _is_end(event: dict[str, Any], until: dict[str, Any], counted: int) -> bool:
    metadata = event["object"].get("metadata") or {}
    if "count" in until:
        return counted >= int(until["count"])
    if "annotation" in until:
        return until["annotation"] in (metadata.get("annotations") or {})
    wanted = [event["type"] == until["type"]] if "type" in until else []
    if "name" in until:
        wanted.append(metadata.get("name") == until["name"])
    return bool(wanted) and all(wanted)


def without_bookmarks(events: list[dict[str, Any]], policy: str) -> list[dict[str, Any]]:
    """Drop bookmarks, whose times the server chooses: all, or all but one of each run of them."""
    kept: list[dict[str, Any]] = []
    for event in events:
        metadata = event["object"].get("metadata") or {}
        marks_end = _INITIAL_EVENTS_END in (metadata.get("annotations") or {})
        plain = event["type"] == "BOOKMARK" and not marks_end
        repeats = bool(kept) and kept[-1]["type"] == "BOOKMARK"
        if not (plain and (policy == "ignore" or repeats)):
            kept.append(event)
    return kept
