"""The server as a ``Transport`` in the same process: no sockets, no copies."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from myrmidon.api.requests.transport import HttpRequest, HttpResponse, ResponseStream
from myrmidon.apiserver.auth.users import User
from myrmidon.apiserver.fronts.waiting import Answered, stream_watch
from myrmidon.apiserver.fronts.waiting import answer as answer_eventually
from myrmidon.apiserver.requests.call import Draws
from myrmidon.apiserver.requests.watches import OpenWatch
from myrmidon.apiserver.server import ApiServer


class LocalTransport:
    """Passes requests to a server in the same process.

    ``token`` is sent with every request; ``user`` replaces the user that the token identifies.
    """

    def __init__(self, server: ApiServer, *, token: str = "", user: User | None = None) -> None:
        self._server, self._user = server, user
        self._headers = {"authorization": f"Bearer {token}"} if token else {}

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Return the response, at once unless it needs a revision, a webhook or a watch."""
        outcome = self._server.answer(self._own(request), self._user)
        self._server.settle()
        if isinstance(outcome, HttpResponse):
            return outcome
        async with asyncio.timeout(deadline):
            outcome = await answer_eventually(self._server, self._own(request), self._user, outcome)
            if isinstance(outcome, HttpResponse):
                return outcome
            lines = [line async for line in stream_watch(self._server, outcome)]
        return HttpResponse(200, outcome.headers, b"".join(map(outcome.frame, lines)))

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[ResponseStream]:
        """Yield the response as a stream of lines."""
        request = self._own(request)
        outcome = self._server.answer(request, self._user, Draws(self._server.core.environment))
        self._server.settle()
        outcome = await answer_eventually(self._server, request, self._user, outcome)
        yield _Stream(self._server, outcome)

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    def _own(self, request: HttpRequest) -> HttpRequest:
        if not self._headers:
            return request
        headers = {**self._headers, **request.headers}
        return HttpRequest(request.method, request.path, request.query, headers, request.body)


class _Stream:
    """A response whose lines are read as they arrive."""

    def __init__(self, server: ApiServer, outcome: Answered) -> None:
        self._server, self._outcome = server, outcome
        self.status = outcome.status if isinstance(outcome, HttpResponse) else 200
        self.headers = outcome.headers

    async def lines(self) -> AsyncIterator[bytes]:
        if isinstance(self._outcome, OpenWatch):
            async for line in stream_watch(self._server, self._outcome):
                yield line
            return
        for line in self._outcome.body.splitlines():
            yield line

    async def read(self) -> bytes:
        if isinstance(self._outcome, HttpResponse):
            return self._outcome.body
        frame = self._outcome.frame
        return b"".join([frame(line) async for line in self.lines()])
