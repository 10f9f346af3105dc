"""Reflector: keeps one cache equal to the server by list and watch.

What to do next is decided in ``watching``, what the cache takes in is decided in ``cache``; this is the
loop that sends the requests and hands the answers from one to the other.

- Nothing that the server sends ends it.  Answers are read by ``lists``, which turns an object that cannot
  be read into an ``Unreadable``; an exception that we did not foresee is logged and leads to a new list.
- It waits for nothing without a limit.  A request and the beginning of a stream have the client's
  deadline; an open stream has the limit of silence that ``watching`` sets (``idle_at``), however long it
  lasts as a whole.
- It gives way to other tasks between objects, so that a long list does not hold up the event loop.
  Changes are handed to the sink before each pause: an own write that is recorded meanwhile comes after
  them, and subscribers hear of both in the order in which the cache took them in.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import NoReturn, TypeAlias

from myrmidon.api.clock import Clock
from myrmidon.errors import AmbiguousError, ApiError, TransportError
from myrmidon.io.cache import Cache
from myrmidon.io.changes import Change, Listing, WatchEvent
from myrmidon.io.client import Client
from myrmidon.io.lists import Page, read_event, read_page
from myrmidon.io.pacing import pacer
from myrmidon.io.watching import Ask, List, Timing, Wait, Watch, Watching

Sink: TypeAlias = Callable[[Sequence[Change]], None]

_LISTED_MAX = 64  # objects of a page that are taken in before other tasks run
_LINES_MAX = 256  # lines of a stream; smaller pieces would cost more reads of the socket
_LINES_PER_LOOK = 16  # at the time: after an idle time, a look ends the turn
_BYTES_MAX = 1 << 18

_log = logging.getLogger(__name__)


class Reflector:
    """One list and watch of one scope.  ``sink`` is given every change, in order."""

    def __init__(
        self,
        client: Client,
        cache: Cache,
        *,
        clock: Clock,
        jitter: Callable[[], float],
        sink: Sink,
        timing: Timing | None = None,
        streaming: bool = True,
        page_size: int = 500,
    ) -> None:
        self._client, self._cache, self._clock, self._sink = client, cache, clock, sink
        self._timing = timing or Timing()
        self._page_size = page_size
        self._watching = Watching(jitter=jitter, streaming=streaming, timing=self._timing)
        self._synced = asyncio.Event()

    async def run(self) -> NoReturn:
        """Reflect until cancelled.  Nothing that the server does ends this."""
        while True:
            try:
                await self._step()
            except Exception as error:  # noqa: BLE001  a mistake of ours must not end the watch, too
                _log.exception("an answer could not be taken in", extra=self._words())
                self._watching.on_broken(AmbiguousError(f"an answer was not taken in: {error!r}"))

    async def _step(self) -> None:
        match self._watching.action:
            case List() as action:
                await self._list(action)
            case Watch() as action:
                await self._watch(action)
            case Ask():
                await self._ask()
            case Wait(seconds):
                _log.debug("waiting", extra=self._words(seconds=seconds))
                await self._clock.sleep(seconds)
                self._watching.on_waited()

    async def wait_synced(self) -> None:
        """Wait until the first list is complete."""
        await self._synced.wait()

    @property
    def is_synced(self) -> bool:
        """Whether the cache has taken in a complete list at any time."""
        return self._synced.is_set()

    @property
    def fault(self) -> ApiError | TransportError | None:
        """Why the server cannot be listed or watched at present, None if it can."""
        return self._watching.fault

    def staleness(self) -> float:
        """Seconds since the last answer or event of the server; infinite before the first."""
        fresh_at = self._watching.fresh_at
        return float("inf") if fresh_at is None else self._clock.monotonic() - fresh_at

    async def _list(self, action: List) -> None:
        limit = 0 if action.whole else self._page_size
        try:
            page = await self._page(limit, action.continue_token)
        except (ApiError, TransportError) as error:
            self._failed(error)
            return
        now = self._clock.monotonic()
        listing = self._watching.on_page(page.items, page.version, page.continue_token, now)
        if listing is not None:
            await self._load(listing)

    async def _ask(self) -> None:
        seconds = self._timing.ask_seconds
        try:
            async with asyncio.timeout(seconds):
                page = await self._page(limit=1)
        except TimeoutError:
            self._failed(AmbiguousError(f"no answer in {seconds:g} s to a read"))
        except (ApiError, TransportError) as error:
            self._failed(error)
        else:
            self._watching.on_answer(page.version, self._clock.monotonic())

    async def _page(self, limit: int, continue_token: str = "") -> Page:
        request = self._cache.scope.list_request(limit=limit, continue_token=continue_token)
        response = await self._client.fetch(request)
        return await read_page(response.body)

    async def _watch(self, action: Watch) -> None:
        request = self._cache.scope.watch_request(
            action.resource_version, timeout_seconds=action.timeout_seconds, initial=action.initial
        )
        try:
            async with self._client.stream(request) as lines:
                self._watching.on_open(self._clock.monotonic())
                await self._follow(action, lines)
        except (ApiError, TransportError) as error:
            self._failed(error)

    async def _follow(self, action: Watch, lines: AsyncIterator[bytes]) -> None:
        """Take lines until the stream ends, falls silent or is of no more use."""
        watching, clock, loop = self._watching, self._clock, asyncio.get_running_loop()
        armed_at, pace, budget = clock.monotonic(), pacer(), _Budget(_LINES_MAX)
        try:
            async with asyncio.timeout(watching.idle_at - armed_at) as idle:
                async for line in lines:
                    now = clock.monotonic()
                    listing = self._take(line, now)
                    if listing is not None:
                        await self._load(listing)
                    if watching.action is not action:
                        _log.info("a watch is over: %s", watching.fault, extra=self._words())
                        return
                    if now - armed_at > 1.0:  # a timer per line would cost more than the line
                        idle.reschedule(loop.time() + watching.idle_at - now)
                        armed_at = now
                    if budget.is_spent_by(len(line)):
                        await pace.end_turn()
                    elif budget.objects % _LINES_PER_LOOK == 0:
                        await pace.give_way()
        except TimeoutError:
            watching.on_idle(clock.monotonic())
            return
        watching.on_end(clock.monotonic())

    def _take(self, line: bytes, now: float) -> Listing | None:
        """Take in a line; returns what is too much to take in at once."""
        event = read_event(line)
        if event is None:
            self._watching.on_garbage()
            return None
        fact = self._watching.on_event(event, now)
        if isinstance(fact, WatchEvent):
            change = self._cache.apply(fact)
            if change is not None:
                self._sink([change])
        elif fact is not None:
            if fact.completes:
                return fact
            changes = self._cache.load(fact)  # one object of a streaming list
            if changes:
                self._sink(changes)
        return None

    async def _load(self, listing: Listing) -> None:
        """Take in a part of a list; other tasks run in between."""
        pace, budget = pacer(), _Budget(_LISTED_MAX)
        for change in self._cache.loading(listing):
            if change is not None:
                self._sink([change])
            await (pace.end_turn() if budget.is_spent_by(0) else pace.give_way())
        if self._watching.synced and not self._synced.is_set():
            _log.info("synced", extra=self._words(objects=len(self._cache)))
            self._synced.set()

    def _failed(self, error: ApiError | TransportError) -> None:
        _log.warning("cannot look: %s", error, extra=self._words())
        self._watching.on_error(error)

    def _words(self, **more: object) -> dict[str, object]:
        return {"facts": {"scope": str(self._cache.scope), **more}}


class _Budget:
    """Counts the objects and bytes that were taken in since other tasks last ran."""

    __slots__ = ("_bytes", "_objects_max", "objects")

    def __init__(self, objects_max: int) -> None:
        self._bytes = self.objects = 0
        self._objects_max = objects_max

    def is_spent_by(self, size: int) -> bool:
        """Add an object of that size; True, and it starts anew, if other tasks should run now."""
        self.objects += 1
        self._bytes += size
        if self.objects < self._objects_max and self._bytes < _BYTES_MAX:
            return False
        self._bytes = self.objects = 0
        return True
