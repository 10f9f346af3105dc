"""DriftMemory: tells a correction of drift from a write that follows a new declaration.

An output drifts if another writer changes or deletes its object after it was as declared, or
creates an object again that was to be gone.  The write that corrects it looks like any other write;
what tells it apart is that the declaration is still the one that was last true.  So the memory keeps
for each output the hash of the declaration (``question_of``) that was last written or found to hold,
and since when.  A write of the same declaration that changed the object is a correction.

Not counted:

- the first write of an output, and the first one after a restart: nothing is known yet;
- a write of another declaration: the parent or the controller has changed;
- a write that changed nothing;
- a write after another state of this controller wrote to the same object, or deleted it: each write
  drops what was known about the other outputs of the object;
- a write after one whose outcome is unknown: the change may have been our own.

``held`` is called only when a decision was made, not in passes that repeat an old decision, so a
converged pass costs nothing.  Entries of objects that no longer exist are forgotten after a while
(``bounded_memory``); an output without an entry is treated as one that was never written.
"""

from collections.abc import Callable
from typing import TypeAlias

from myrmidon.api.clock import Clock
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.io.writes.bounded_memory import RecentMemory
from myrmidon.io.writes.stall_guard import Wish

_AsDeclared: TypeAlias = tuple[str, int, float]
"""One output that was as declared: its part of a ``Wish``, its declaration, since when."""


class DriftMemory:
    """Remembers since when each output has been as declared."""

    def __init__(self, clock: Clock, room: Callable[[], int]) -> None:
        """``room``: for how many objects there must be room."""
        self._monotonic = clock.monotonic
        self._known = RecentMemory[ObjectRef, tuple[_AsDeclared, ...]](room)

    def held(self, wish: Wish, question: int) -> None:
        """Record that nothing was to be sent for an output."""
        ref, part = wish
        known = self._known.get(ref) or ()
        if _since(known, part, question) is None:
            entry = (part, question, self._monotonic())
            self._known.put(ref, (*(one for one in known if one[0] != part), entry))

    def wrote(self, wish: Wish, question: int, now: float) -> float | None:
        """Record a write that changed the object at the monotonic time ``now``.

        Return for how many seconds the output had been as declared if the write corrected drift,
        else None.
        """
        ref, part = wish
        known = self._known.get(ref)
        self._known.put(ref, ((part, question, now),))
        if known is None:
            return None
        since = _since(known, part, question)
        return None if since is None else now - since

    def forget(self, ref: ObjectRef) -> None:
        """Forget the outputs of an object: a write to it may have taken effect or not."""
        self._known.pop(ref)


def _since(known: tuple[_AsDeclared, ...], part: str, question: int) -> float | None:
    for found, declaration, since in known:
        if found == part and declaration == question:
            return since
    return None
