"""Reflector: keeps one cache equal to the server by list and watch.

``protocol`` decides which request comes next, and ``cache`` decides which objects and events it
accepts.  The reflector is the loop between them: it sends the requests, and passes answers from the
protocol to the cache and the resulting changes to the sink.

What must hold:

- No answer of the server ends the loop.  ``lists`` reads the answers and turns an object that
  cannot be decoded into an ``Unreadable``.  An unexpected exception is logged and leads to a new
  list.
- Every wait has a limit.  Requests, and streams until their headers have arrived, have the client's
  deadline.  An open stream may be silent until ``idle_at`` of the protocol; its total length has no
  limit.
- Other tasks run between objects, so a long list does not block the event loop.  Changes go to the
  sink before each such pause.  A write by this process that is recorded during the pause therefore
  comes after them, and subscribers see all changes in the order in which the cache accepted them.

The cache may keep a part of its scope, and the part may change at any time (``set_part``).  The request
under way is then given up.  If the new part is inside the old one, the other objects are removed and the
watch is opened again from its position; otherwise the part is listed.  Either way no event is lost: a
watch goes on where it was, and a list is newer than all events before it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import NoReturn, TypeAlias

from myrmidon.api.clock import Clock
from myrmidon.errors import AmbiguousError, ApiError, TransportError
from myrmidon.io.client import Client
from myrmidon.io.lists.answers import Page, read_event, read_page
from myrmidon.io.lists.events import Listing, WatchEvent
from myrmidon.io.lists.slices import Part
from myrmidon.io.timers.pacing import pacer
from myrmidon.io.watch.actions import Ask, List, Pause, WatchFrom
from myrmidon.io.watch.cache import Cache
from myrmidon.io.watch.changes import Change
from myrmidon.io.watch.protocol import Timing, Watching

Sink: TypeAlias = Callable[[Sequence[Change]], None]

_LISTED_MAX = 64  # objects of a page that are processed before other tasks run
_BYTES_MAX = 1 << 18  # of a stream; smaller pieces would cost more reads of the socket
_LINE_BYTES = 1 << 10  # what processing a line costs beside its length, so at most 256 lines
_BYTES_PER_LOOK = 1 << 14  # between two looks at the clock

_log = logging.getLogger(__name__)


class Reflector:
    """Lists and watches one scope into ``cache``, and passes every change to ``sink``, in order.

    ``streaming`` (default True) asks for streaming lists; a server that refuses them is listed in
    pages of ``page_size`` objects.  ``jitter`` returns a number from 0 to 1.
    """

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
        self._in_part = asyncio.Event()  # the cache has all objects of its part
        self._part_changed = self._relists = False  # since the last step began
        self._interruption: asyncio.Timeout | None = None

    async def run(self) -> NoReturn:
        """List and watch until cancelled.  Errors are logged and retried."""
        while True:
            try:
                while self._part_changed:  # it may change again meanwhile
                    await self._change_part()
                try:
                    async with asyncio.timeout(None) as self._interruption:
                        await self._step()
                finally:
                    self._interruption = None
            except Exception as error:  # noqa: BLE001  a bug of ours must not end the watch either
                if isinstance(error, TimeoutError) and self._part_changed:
                    continue
                _log.exception("an answer could not be processed", extra=self._facts())
                self._watching.on_broken(AmbiguousError(f"an answer was not processed: {error!r}"))

    def set_part(self, part: Part | None) -> None:
        """Keep this part of the scope from now on, None for all of it; see ``wait_part``."""
        before = self._cache.part
        if part == before:
            return
        self._cache.part = part
        self._relists = self._relists or part is None or not part.is_within(before)
        self._part_changed = True
        self._in_part.clear()
        scope = self._interruption
        if scope is not None and not scope.expired():  # else it is between two steps, and will look
            scope.reschedule(asyncio.get_running_loop().time())

    async def wait_part(self) -> None:
        """Wait until the cache holds all objects of its part, and no others."""
        await self._in_part.wait()

    async def _change_part(self) -> None:
        relists, self._relists, self._part_changed = self._relists, False, False
        if not relists or self._is_empty:
            await self._take_in(self._cache.purging())
        self._watching.on_part_changed(relists=relists)
        self._settle()

    @property
    def _is_empty(self) -> bool:
        """Whether no object can be in the part, so that there is nothing to list or watch."""
        return self._cache.part is not None and self._cache.part.is_empty

    def _settle(self) -> None:
        """Note that a list is complete, or that nothing has to be listed."""
        if self._part_changed or (self._watching.is_listing and not self._is_empty):
            return
        self._in_part.set()
        if not self._synced.is_set():
            _log.info("synced", extra=self._facts(objects=len(self._cache)))
            self._synced.set()

    async def _step(self) -> None:
        if self._is_empty:
            self._settle()
            await asyncio.Event().wait()  # until the part changes
        match self._watching.action:
            case List() as action:
                await self._list(action)
            case WatchFrom() as action:
                await self._watch(action)
            case Ask():
                await self._ask()
            case Pause(seconds):
                _log.debug("waiting", extra=self._facts(seconds=seconds))
                await self._clock.sleep(seconds)
                self._watching.on_waited()

    async def wait_synced(self) -> None:
        """Wait until the first list is complete."""
        await self._synced.wait()

    @property
    def is_synced(self) -> bool:
        """Whether the cache has loaded a complete list at least once."""
        return self._synced.is_set()

    @property
    def fault(self) -> ApiError | TransportError | None:
        """The last error of the list or watch; None once the server has answered again."""
        return self._watching.fault

    def staleness(self) -> float:
        """Return the seconds since the last answer or event; infinite before the first one."""
        if self._is_empty:
            return 0.0
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
        request = self._cache.scope.list_request(
            limit=limit, continue_token=continue_token, shards=self._shards
        )
        response = await self._client.fetch(request)
        return await read_page(response.body)

    async def _watch(self, action: WatchFrom) -> None:
        request = self._cache.scope.watch_request(
            action.resource_version,
            timeout_seconds=action.timeout_seconds,
            initial=action.initial,
            shards=self._shards,
        )
        try:
            async with self._client.stream(request) as lines:
                self._watching.on_open(self._clock.monotonic())
                await self._follow(action, lines)
        except (ApiError, TransportError) as error:
            self._failed(error)

    async def _follow(self, action: WatchFrom, lines: AsyncIterator[bytes]) -> None:
        """Process lines until the stream ends, falls silent, or ``action`` changes."""
        watching, clock, loop = self._watching, self._clock, asyncio.get_running_loop()
        take = self._take if self._cache.part is None else self._take_ours
        armed_at, pace, spent, look_at = clock.monotonic(), pacer(), 0, _BYTES_PER_LOOK
        try:
            async with asyncio.timeout(watching.idle_at - armed_at) as idle:
                async for line in lines:
                    now = clock.monotonic()
                    listing = take(line, now)
                    if listing is not None:
                        await self._load(listing)
                    if watching.action is not action:
                        _log.info("watch given up: %s", watching.fault, extra=self._facts())
                        return
                    if now - armed_at > 1.0:  # setting a timer costs more than processing a line
                        idle.reschedule(loop.time() + watching.idle_at - now)
                        armed_at = now
                    spent += len(line) + _LINE_BYTES
                    if spent >= _BYTES_MAX:
                        spent, look_at = 0, _BYTES_PER_LOOK
                        await pace.end_turn()
                    elif spent >= look_at:
                        look_at = spent + _BYTES_PER_LOOK
                        await pace.give_way()
        except TimeoutError:
            watching.on_idle(clock.monotonic())
            return
        watching.on_end(clock.monotonic())

    def _take_ours(self, line: bytes, now: float) -> Listing | None:
        """Do the same for a cache of a part: lines about other objects are not decoded."""
        if not self._cache.is_foreign(line):
            return self._take(line, now)
        begun = self._watching.on_foreign(now)
        if begun is not None:
            self._cache.load(begun)
        return None

    def _take(self, line: bytes, now: float) -> Listing | None:
        """Process a line.  Return a listing that completes a list: loading it takes many turns."""
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
        """Load a page or the end of a list into the cache; other tasks run between objects."""
        await self._take_in(self._cache.loading(listing))
        if listing.completes:
            self._settle()

    async def _take_in(self, steps: Iterator[Change | None]) -> None:
        """Pass the changes of many steps to the sink; other tasks run in between."""
        pace = pacer()
        for number, change in enumerate(steps, 1):
            if change is not None:
                self._sink([change])
            await (pace.end_turn() if number % _LISTED_MAX == 0 else pace.give_way())

    @property
    def _shards(self) -> str:
        """The part of the scope for which the server is asked; ``""`` for all of it."""
        return "" if self._cache.part is None else self._cache.part.selector

    def _failed(self, error: ApiError | TransportError) -> None:
        _log.warning("list or watch failed: %s", error, extra=self._facts())
        self._watching.on_error(error)

    def _facts(self, **more: object) -> dict[str, object]:
        return {"facts": {"scope": str(self._cache.scope), **more}}
