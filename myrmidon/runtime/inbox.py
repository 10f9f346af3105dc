"""Inbox: keys that channels send, on their way into the queue.

``Channel.send`` may be called from any thread, any number of times.  Each send would be a callback of
its own on the event loop, and ten thousand sends one turn of it; so a send only notes the key here,
wakes the task that empties the inbox if it was empty, and returns.  Sends of a key that is still
noted are one.
"""

import asyncio
from collections.abc import Callable
from threading import Lock
from typing import NoReturn

from myrmidon.api.refs import ObjectRef
from myrmidon.io.timers.pacing import pacer


class Inbox:
    """Keys and the delays after which they are due, from any thread to one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = Lock()
        self._keys: dict[tuple[ObjectRef, float], None] = {}
        self._arrived = asyncio.Event()

    def put(self, key: ObjectRef, delay: float) -> None:
        """Note a key; callable from any thread, also when the event loop is closed already."""
        with self._lock:
            was_empty = not self._keys
            self._keys[key, delay] = None
        if was_empty and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._arrived.set)

    def __len__(self) -> int:
        return len(self._keys)

    async def empty(self, into: Callable[[ObjectRef, float], None]) -> NoReturn:
        """Hand over every key that arrives, in order, until cancelled."""
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
