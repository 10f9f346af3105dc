"""Channel: events from outside of the cluster."""

from collections.abc import Callable
from datetime import timedelta
from typing import TypeAlias

from myrmidon.fsm.watches import Key

Sink: TypeAlias = Callable[[Key, timedelta], None]


class Channel:
    """A source of keys that no watch would bring: a webhook, a message queue, a timer.

    ``channel.send("default/shop")`` gives the object a pass, after ``debounce``, so that a burst of
    events is one pass.  It may be called from any thread.
    """

    def __init__(self, name: str, *, debounce: timedelta = timedelta(0)) -> None:
        self.name, self.debounce = name, debounce
        self._sinks: list[Sink] = []

    def send(self, key: Key) -> None:
        """Say that something happened which concerns the object."""
        for sink in tuple(self._sinks):
            sink(key, self.debounce)

    def subscribe(self, sink: Sink) -> Callable[[], None]:
        """Hear of every key; the returned function ends that."""
        self._sinks.append(sink)
        return lambda: self._sinks.remove(sink)

    def __repr__(self) -> str:
        return f"Channel({self.name!r})"
