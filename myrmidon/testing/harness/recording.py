"""RecordingTransport: keeps a log of all requests and of the answers to writes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import orjson

from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream, Transport

_WRITES = ("POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and the status code of its answer; for a write also the answer's body."""

    request: HttpRequest
    status: int
    answered: bytes = b""
    cluster: str = ""  # the remote cluster; "" for the home cluster

    @property
    def is_write(self) -> bool:
        """Whether the request may change the cluster."""
        return self.request.method in _WRITES

    @property
    def body(self) -> Any:
        """The body of the request, decoded."""
        return orjson.loads(self.request.body or b"{}")

    @property
    def answer(self) -> Json:
        """The body of the answer to a write, decoded: the object, or a Status."""
        answer: Json = orjson.loads(self.answered or b"{}")
        return answer

    @property
    def path(self) -> str:
        """The path of the object; for a create its name is taken from the body."""
        if self.request.method != "POST":
            return self.request.path
        named = self.body.get("metadata") or {}
        return f"{self.request.path}/{named.get('name') or ''}"

    def __str__(self) -> str:
        where = f" on {self.cluster}" if self.cluster else ""
        return f"{self.request.method} {self.path} {self.status}{where}"

    __repr__ = __str__


class RecordingTransport:
    """Forwards all requests and logs them in ``log``; a watch is logged when it is opened."""

    def __init__(
        self, inner: Transport, log: list[Exchange] | None = None, cluster: str = ""
    ) -> None:
        self._inner, self._cluster = inner, cluster
        self.log: list[Exchange] = [] if log is None else log

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send the request and log it."""
        response = await self._inner.send(request, deadline=deadline)
        answered = response.body if request.method in _WRITES else b""
        self.log.append(Exchange(request, response.status, answered, self._cluster))
        return response

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[ResponseStream]:
        """Open the stream and log the request."""
        async with self._inner.stream(request) as response:
            self.log.append(Exchange(request, response.status, cluster=self._cluster))
            yield response

    async def close(self) -> None:
        """Close the inner transport."""
        await self._inner.close()

    def writes(self) -> list[Exchange]:
        """Return the writes so far, except those of Events."""
        return [one for one in self.log if one.is_write and "/events" not in one.request.path]
