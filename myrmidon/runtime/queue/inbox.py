"""Inbox: carries keys from ``Channel.send``, in any thread, to the queue on the event loop.

A callback on the event loop per send would be simple, but ten thousand sends would then run in one
turn of the loop and block it.  So a send only stores the key here and, if the inbox was empty,
wakes the task that empties it; that task yields to the loop between keys.  Several sends of a key
that is still in the inbox, with the same delay, count as one.
"""

import asyncio
from collections.abc import Callable
from threading import Lock
from typing import NoReturn

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.io.timers.pacing import pacer


class Inbox:
    """Keys with the delays after which they are due; filled from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = Lock()
        self._keys: dict[tuple[ObjectRef, float], None] = {}
        self._arrived = asyncio.Event()

    def put(self, key: ObjectRef, delay: float) -> None:
        """Store a key.  May be called from any thread, even after the event loop was closed."""
        with self._lock:
            was_empty = not self._keys
            self._keys[key, delay] = None
        if was_empty and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._arrived.set)

    def __len__(self) -> int:
        return len(self._keys)

    async def empty(self, into: Callable[[ObjectRef, float], None]) -> NoReturn:
        """Pass every key that arrives to ``into``, in order, until cancelled."""
        pace = pacer()
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            while (noted := self._oldest()) is not None:
                into(*noted)
                await pace.give_way()

    def _oldest(self) -> tuple[ObjectRef, float] | None:
        with self._lock:
            noted = next(iter(self._keys), None)
            if noted is not None:
                del self._keys[noted]
        return noted
