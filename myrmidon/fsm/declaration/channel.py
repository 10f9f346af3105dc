"""Channel: trigger passes by events from outside the cluster."""

from collections.abc import Callable
from datetime import timedelta
from typing import TypeAlias

from myrmidon.fsm.declaration.watches import Key

Sink: TypeAlias = Callable[[Key, timedelta], None]


class Channel:
    """A source of events that no watch delivers: a webhook, a message queue, a timer.

    ``channel.send("default/shop")`` gives that object a pass after the delay ``debounce`` (default:
    none), so that a burst of events leads to one pass.  It may be called from any thread.
    """

    def __init__(self, name: str, *, debounce: timedelta = timedelta(0)) -> None:
        self.name, self.debounce = name, debounce
        self._sinks: list[Sink] = []

    def send(self, key: Key) -> None:
        """Give the object with this key a pass."""
        for sink in tuple(self._sinks):
            sink(key, self.debounce)

    def subscribe(self, sink: Sink) -> Callable[[], None]:
        """Call ``sink`` with every key that is sent; the returned function ends that."""
        self._sinks.append(sink)
        return lambda: self._sinks.remove(sink)

    def __repr__(self) -> str:
        return f"Channel({self.name!r})"
