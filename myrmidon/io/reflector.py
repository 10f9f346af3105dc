"""Keeps one cache true to the server: does what ``watching`` decides, and nothing else."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import NoReturn, TypeAlias

import orjson

from myrmidon.api.clock import Clock
from myrmidon.errors import AmbiguousError, ApiError, TransportError
from myrmidon.io.cache import Cache
from myrmidon.io.changes import Change, Listing, WatchEvent
from myrmidon.io.client import Client, Page, page_of
from myrmidon.io.watching import Ask, List, Timing, Wait, Watch, Watching

Sink: TypeAlias = Callable[[Sequence[Change]], None]

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
        """Whether a list was ever complete."""
        return self._watching.synced

    @property
    def fault(self) -> ApiError | TransportError | None:
        """Why we cannot look at present, None if we can."""
        return self._watching.fault

    def staleness(self) -> float:
        """Seconds since the server last told us anything; endless before the first time."""
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
        self._store(self._watching.on_page(page.items, page.version, page.continue_token, now))

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
        try:
            return page_of(orjson.loads(response.body))
        except orjson.JSONDecodeError as error:
            raise AmbiguousError(f"a list cannot be read: {error}") from error

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
        armed_at = clock.monotonic()
        try:
            async with asyncio.timeout(watching.idle_at - armed_at) as idle:
                async for line in lines:
                    now = clock.monotonic()
                    self._take(line, now)
                    if watching.action is not action:
                        _log.info("a watch is over: %s", watching.fault, extra=self._words())
                        return
                    if now - armed_at > 1.0:  # a timer per line would cost more than the line
                        idle.reschedule(loop.time() + watching.idle_at - now)
                        armed_at = now
        except TimeoutError:
            watching.on_idle(clock.monotonic())
            return
        watching.on_end(clock.monotonic())

    def _take(self, line: bytes, now: float) -> None:
        try:
            parsed = orjson.loads(line)
            event = WatchEvent(parsed["type"], parsed["object"])
        except (orjson.JSONDecodeError, KeyError, TypeError):
            self._watching.on_garbage()
            return
        self._store(self._watching.on_event(event, now))

    def _store(self, fact: Listing | WatchEvent | None) -> None:
        if isinstance(fact, WatchEvent):
            change = self._cache.apply(fact)
            if change is not None:
                self._sink([change])
        elif fact is not None:
            changes = self._cache.load(fact)
            if self._watching.synced and not self._synced.is_set():
                _log.info("synced", extra=self._words(objects=len(self._cache)))
                self._synced.set()
            if changes:
                self._sink(changes)

    def _failed(self, error: ApiError | TransportError) -> None:
        _log.warning("cannot look: %s", error, extra=self._words())
        self._watching.on_error(error)

    def _words(self, **more: object) -> dict[str, object]:
        return {"facts": {"scope": str(self._cache.scope), **more}}
