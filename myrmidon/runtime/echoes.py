"""Echoes: what a pass wrote comes back by watch, and must not wake it again.

Usually the answer to a write is here first, and the cache then sees nothing new in the event.  But a
busy server may tell the watch before it tells the writer.  Such an event, during a pass, is held
until the pass is over; by then it is known whether it was news.
"""

from collections import OrderedDict

from myrmidon.api.refs import ObjectRef
from myrmidon.runtime.triggers import Trigger, author

_AUTHORS_MAX = 4096  # an event that comes later than that is taken for news, which costs one pass


class Echoes:
    """The recent writes of each pass, and the events that came while one was under way."""

    def __init__(self, controller: str) -> None:
        self._controller = controller
        self._written: OrderedDict[str, dict[tuple[ObjectRef, str], None]] = OrderedDict()
        self._held: dict[ObjectRef, list[tuple[Trigger, str]]] = {}

    def expect(self, by: str, ref: ObjectRef, version: str) -> None:
        """A pass has written this; the watch will say so, too."""
        if not by:
            return
        self._written.setdefault(by, {})[ref, version] = None
        if len(self._written) > _AUTHORS_MAX:
            self._written.popitem(last=False)

    @property
    def expected(self) -> int:
        """How many passes have written what is still remembered."""
        return len(self._written)

    def is_echo(self, trigger: Trigger, version: str) -> bool:
        """Whether an event is the watch's word for what the key's own pass has written."""
        written = self._written.get(author(self._controller, trigger.key))
        return written is not None and (trigger.cause.ref, version) in written

    def begin(self, key: ObjectRef) -> None:
        """A pass begins; what the one before it has written is old."""
        self._written.pop(author(self._controller, key), None)

    def hold(self, trigger: Trigger, version: str) -> None:
        """Keep an event that came during a pass of its key."""
        self._held.setdefault(trigger.key, []).append((trigger, version))

    def news(self, key: ObjectRef) -> list[Trigger]:
        """The pass is over: the events that came meanwhile and were not its own."""
        held = self._held.pop(key, ())
        return [trigger for trigger, version in held if not self.is_echo(trigger, version)]
