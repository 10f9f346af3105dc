"""A transport that remembers: what was asked, and what came of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import orjson

from myrmidon.api.objects import Json
from myrmidon.api.wire import HttpRequest, HttpResponse, ResponseStream, Transport

_WRITES = ("POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request, the status of its answer and, of a write, the answer itself."""

    request: HttpRequest
    status: int
    answered: bytes = b""

    @property
    def is_write(self) -> bool:
        """Whether the request could change anything."""
        return self.request.method in _WRITES

    @property
    def body(self) -> Any:
        """What was sent."""
        return orjson.loads(self.request.body or b"{}")

    @property
    def answer(self) -> Json:
        """What a write became: the object, or why it was refused."""
        answer: Json = orjson.loads(self.answered or b"{}")
        return answer

    @property
    def path(self) -> str:
        """Which object it was about; a create names it in its body only."""
        if self.request.method != "POST":
            return self.request.path
        named = self.body.get("metadata") or {}
        return f"{self.request.path}/{named.get('name') or ''}"

    def __str__(self) -> str:
        return f"{self.request.method} {self.path} {self.status}"

    __repr__ = __str__


class RecordingTransport:
    """Passes everything on and keeps a log of it; watches count as reads when they begin."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.log: list[Exchange] = []

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send, and remember."""
        response = await self._inner.send(request, deadline=deadline)
        answered = response.body if request.method in _WRITES else b""
        self.log.append(Exchange(request, response.status, answered))
        return response

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[ResponseStream]:
        """Stream, and remember that it began."""
        async with self._inner.stream(request) as response:
            self.log.append(Exchange(request, response.status))
            yield response

    async def close(self) -> None:
        """Close what is behind."""
        await self._inner.close()

    def writes(self) -> list[Exchange]:
        """The writes so far; Events about objects are gossip and do not count."""
        return [one for one in self.log if one.is_write and "/events" not in one.request.path]
