"""Waiting, for both fronts: for revisions, webhooks, watch events and actors.

``answer`` turns an outcome into a response or a watch: it waits until the store has reached a
revision, or calls a webhook (for admission or conversion) and runs the request again.  ``stream_watch`` yields the lines of a
watch as they arrive, with a bookmark every minute and shortly before the end.  ``Tending`` runs the
actors at the time that they asked for.

The clock is that of the running event loop, so with a virtual-time loop all waits are instant.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import TypeAlias

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.auth.users import User
from myrmidon.apiserver.fronts.conversion_client import ask_to_convert
from myrmidon.apiserver.fronts.webhook_client import ask
from myrmidon.apiserver.requests.outcomes import ConversionQuestion, Outcome, Question, WaitFor
from myrmidon.apiserver.requests.watches import OpenWatch
from myrmidon.apiserver.resources.conversions import ConversionNeeded
from myrmidon.apiserver.server import ApiServer
from myrmidon.apiserver.verbs.dispatch import failed

_log = logging.getLogger(__name__)
BOOKMARK_SECONDS = 60.0
BOOKMARK_BEFORE_END_SECONDS = 2.0
WATCH_SECONDS_DEFAULT = 1800.0

Answered: TypeAlias = HttpResponse | OpenWatch


async def answer(
    server: ApiServer, request: HttpRequest, user: User | None, outcome: Outcome
) -> Answered:
    """Wait as the outcome says, until there is a response or a watch."""
    while not isinstance(outcome, HttpResponse | OpenWatch):
        if isinstance(outcome, Question):
            draws = outcome.draws
            draws.replies[outcome.key] = await (server.webhook_client or ask)(outcome.question)
            outcome = server.answer(request, user, draws)
        elif isinstance(outcome, ConversionQuestion):
            failure = await ask_to_convert(server, outcome.needed)
            if failure is not None:
                return failed(failure)
            outcome = server.answer(request, user, outcome.draws)
        elif await _reached(server, outcome):
            outcome = server.answer(request, user)
        else:
            return failed(outcome.failure)
        settle(server)
    return outcome


def settle(server: ApiServer) -> None:
    """Run the actors after a request; log an exception of one of them.

    The request was answered and what it wrote is stored, so the client must not get a 500 for it.
    """
    try:
        server.settle()
    except Exception:  # noqa: BLE001 - a bug in an actor is not the client's
        _log.exception("an actor of the server failed; it is tried again after the next request")


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
    """Yield the lines of a watch as they arrive, until it ends or times out.

    One timer per bookmark wakes it, not one per event: setting a timer costs more than sending a line.
    """
    loop = asyncio.get_running_loop()
    clock = loop.time
    ends_at = clock() + (watch.seconds or WATCH_SECONDS_DEFAULT)
    bookmark_at = min(clock() + BOOKMARK_SECONDS, ends_at - BOOKMARK_BEFORE_END_SECONDS)
    changed = asyncio.Event()
    stop = server.store.listen(changed.set, watch.resource)
    timer: asyncio.TimerHandle | None = None

    def ring() -> None:
        nonlocal timer
        timer = None
        changed.set()

    try:
        while True:
            changed.clear()
            try:
                lines = watch.take()
            except ConversionNeeded as needed:
                lines = await _converted_lines(server, watch, needed)
            for line in lines:
                yield line
            if watch.over or clock() >= ends_at:
                return
            if clock() >= bookmark_at:
                bookmark = watch.bookmark()
                if bookmark is not None:
                    yield bookmark
                bookmark_at = _next_bookmark(clock(), bookmark_at, ends_at)
            if timer is None:
                timer = loop.call_at(min(bookmark_at, ends_at), ring)
            await changed.wait()
    finally:
        if timer is not None:
            timer.cancel()
        stop()


async def _converted_lines(
    server: ApiServer, watch: OpenWatch, needed: ConversionNeeded
) -> list[bytes]:
    """Return the lines of a watch once a webhook has converted their objects."""
    while True:
        failure = await ask_to_convert(server, needed)
        if failure is not None:
            return [*watch.waiting(), watch.fail(failure)]
        try:
            return watch.take()
        except ConversionNeeded as further:
            needed = further


class Tending:
    """Runs the actors at the time that they asked for, even without a request."""

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
            self._timer = self._loop.call_later(max(delay, 0.0), settle, self._server)

    def stop(self) -> None:
        """Stop running the actors."""
        self._server.settled = None
        if self._timer is not None:
            self._timer.cancel()


def _next_bookmark(now: float, last: float, ends_at: float) -> float:
    before_end = ends_at - BOOKMARK_BEFORE_END_SECONDS
    if last >= before_end:
        return ends_at
    return min(now + BOOKMARK_SECONDS, before_end)
