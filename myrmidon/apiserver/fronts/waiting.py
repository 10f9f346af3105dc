"""Waiting, which the fronts have in common: for revisions, webhooks, the lines of a watch, and actors.

``answer`` turns an outcome into an answer or a watch: it waits until the store has reached a revision, or
asks a webhook and runs the request again.  ``stream_watch`` yields the lines of a watch as they come, and bookmarks
each minute and shortly before the end.  ``Tending`` lets the actors act when their time has come.

Time is that of the running loop, so a loop with virtual time makes all of it instant.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import TypeAlias

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.auth.users import User
from myrmidon.apiserver.fronts.webhook_client import ask
from myrmidon.apiserver.outcomes import Outcome, Question, WaitFor
from myrmidon.apiserver.server import ApiServer
from myrmidon.apiserver.verbs.dispatch import failed
from myrmidon.apiserver.watches import OpenWatch

BOOKMARK_SECONDS = 60.0
BOOKMARK_BEFORE_END_SECONDS = 2.0
WATCH_SECONDS_DEFAULT = 1800.0

Answered: TypeAlias = HttpResponse | OpenWatch


async def answer(
    server: ApiServer, request: HttpRequest, user: User | None, outcome: Outcome
) -> Answered:
    """Wait for whatever an outcome waits for, until there is an answer or a watch."""
    while not isinstance(outcome, HttpResponse | OpenWatch):
        if isinstance(outcome, Question):
            draws = outcome.draws
            draws.replies[outcome.key] = await ask(outcome.question)
            outcome = server.answer(request, user, draws)
        elif await _reached(server, outcome):
            outcome = server.answer(request, user)
        else:
            return failed(outcome.failure)
        server.settle()
    return outcome


async def _reached(server: ApiServer, wanted: WaitFor) -> bool:
    changed = asyncio.Event()
    stop = server.store.listen(changed.set)
    try:
        async with asyncio.timeout(wanted.seconds):
            while server.store.revision < wanted.revision:
                changed.clear()
                await changed.wait()
    except TimeoutError:
        return False
    finally:
        stop()
    return True


async def stream_watch(server: ApiServer, watch: OpenWatch) -> AsyncIterator[bytes]:
    """The lines of a watch as they come, until it is over or its time is up."""
    clock = asyncio.get_running_loop().time
    ends_at = clock() + (watch.seconds or WATCH_SECONDS_DEFAULT)
    bookmark_at = min(clock() + BOOKMARK_SECONDS, ends_at - BOOKMARK_BEFORE_END_SECONDS)
    changed = asyncio.Event()
    stop = server.store.listen(changed.set, watch.resource)
    try:
        while True:
            changed.clear()
            for line in watch.take():
                yield line
            if watch.over or clock() >= ends_at:
                return
            if clock() >= bookmark_at:
                bookmark = watch.bookmark()
                if bookmark is not None:
                    yield bookmark
                bookmark_at = _next_bookmark(clock(), bookmark_at, ends_at)
            try:
                async with asyncio.timeout_at(min(bookmark_at, ends_at)):
                    await changed.wait()
            except TimeoutError:
                continue
    finally:
        stop()


class Tending:
    """Lets the actors act when their time has come, although there is no request."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        server.settled = self._plan
        self._plan()

    def _plan(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        due = self._server.due()
        if due is not None:
            delay = (due - self._server.core.environment.now()).total_seconds()
            self._timer = self._loop.call_later(max(delay, 0.0), self._server.settle)

    def stop(self) -> None:
        """Let them rest."""
        self._server.settled = None
        if self._timer is not None:
            self._timer.cancel()


def _next_bookmark(now: float, last: float, ends_at: float) -> float:
    before_end = ends_at - BOOKMARK_BEFORE_END_SECONDS
    if last >= before_end:
        return ends_at
    return min(now + BOOKMARK_SECONDS, before_end)
