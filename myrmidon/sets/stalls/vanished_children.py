"""Vanishing: decide when a child that another client deleted is created again.

A controller creates a child that is missing, and the deletion of a child wakes its parent.  If another
client deletes the child each time (another controller, a time to live, a script, the garbage
collector because an owner of the child does not exist), the two would go on for ever.  ``Vanishing``
counts the creations of each child by this process and decides when to create and when to wait:

- ``knows``: whether this process created the child for this parent before.  Such a child has
  vanished, and the caller reads the parent from the server before it creates the child again: the
  parent may be gone as well, while its watch is late.
- ``check``: before a creation.  It returns None, or the seconds to wait.
- ``created``: after a creation.
- ``held``: when the child is there, so that nothing has to be written.

A child is created again at once ``REPEATS_MAX`` times.  After that there is at least a minute between
two creations; if the child vanishes before that time is over, the pause doubles, up to ten minutes.
A child that lives longer than the pause is created again at once, so that an eviction every few
minutes does no harm.  A child that has lived for ten minutes, or twice the pause, begins anew.

Another declaration does not begin anew, because a state may declare other content in each pass, for
example a time.  But the first ``REPEATS_MAX`` changes wait for ``HOLD_SECONDS`` at most: a user who
changes the declaration to end the conflict does not wait for ten minutes.

What does not count: deletions by this process (``forget``), and children of another parent of the
same name.  After a restart all counts begin at zero.  That is safe, as for ``contested_fields``.
"""

from collections.abc import Hashable
from typing import Generic, NamedTuple, TypeVar

from myrmidon.sets.stalls.stall_times import (
    HOLD_SECONDS,
    KEEP_SECONDS,
    REPEATS_MAX,
    is_series_over,
    next_delay,
)

KeyT = TypeVar("KeyT", bound=Hashable)

CHILD = "created again"
"""The second part of the key of a stalled child."""
_CHILDREN_MAX = 100_000


class _Series(NamedTuple):
    """The creations of one child for one parent."""

    parent: str
    declaration: int
    created_at: float
    repeats: int = 0
    changes: int = 0  # creations under another declaration than the one before
    delay: float = 0.0
    waited: bool = False  # the next creation had to wait


class Vanishing(Generic[KeyT]):
    """Decides for each child whether it may be created now or has to wait.

    ``stalled`` has the children whose creation had to wait, until one has lasted: each as ``(key,
    CHILD)``, so that the caller may share it with other kinds of stalls.
    """

    def __init__(self, stalled: dict[tuple[KeyT, str], None]) -> None:
        self.stalled = stalled
        self.series: dict[KeyT, _Series] = {}
        """The creations of each child, in the order of the last one."""

    def knows(self, key: KeyT, parent: str) -> bool:
        """Whether this process has created the child for the parent with this uid."""
        series = self.series.get(key)
        return series is not None and series.parent == parent

    def check(self, key: KeyT, parent: str, declaration: int, now: float) -> float | None:
        """Return the seconds for which a creation has to wait; None if it may be sent now."""
        series = self.series.get(key)
        if series is None or series.parent != parent or not series.delay:
            return None
        is_new = declaration != series.declaration and series.changes < REPEATS_MAX
        left = series.created_at + (HOLD_SECONDS if is_new else series.delay) - now
        if left <= 0:
            return None
        self.series[key] = series._replace(waited=True)
        self.stalled[key, CHILD] = None
        return left

    def created(self, key: KeyT, parent: str, declaration: int, now: float) -> float | None:
        """Record a creation; return for how long its stall is still reported, None if it has none."""
        before = self.series.pop(key, None)
        self.series[key] = _Series(parent, declaration, now)  # the last in the order of creations
        if len(self.series) > _CHILDREN_MAX:
            self.forget(next(iter(self.series)))
        if before is None:  # as nearly always
            return None
        if before.parent != parent or is_series_over(before.created_at, before.delay, now):
            self.stalled.pop((key, CHILD), None)
            return None
        repeats, delay = before.repeats + 1, before.delay
        if repeats >= REPEATS_MAX:
            delay = next_delay(delay, waited=before.waited)
        changes = before.changes + (declaration != before.declaration)
        self.series[key] = _Series(parent, declaration, now, repeats, changes, delay)
        return HOLD_SECONDS if (key, CHILD) in self.stalled else None

    def held(self, key: KeyT, now: float) -> float | None:
        """Record that the child is there; return for how long its stall is still reported."""
        if (key, CHILD) not in self.stalled:
            return None
        left = self.series[key].created_at + HOLD_SECONDS - now
        if left > 0:
            return left
        del self.stalled[key, CHILD]
        return None

    def forget(self, key: KeyT) -> None:
        """Forget a child, because this process deleted it."""
        if self.series.pop(key, None) is not None:
            self.stalled.pop((key, CHILD), None)

    def expire(self, now: float) -> None:
        """End the stalls of children that were not created for ``KEEP_SECONDS``."""
        for key, what in list(self.stalled):
            series = self.series.get(key) if what == CHILD else None
            if series is not None and now - series.created_at > KEEP_SECONDS:
                del self.stalled[key, CHILD]
