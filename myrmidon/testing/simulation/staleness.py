"""Views: how far behind the server a process is, for each kind by itself.

Real bugs need one kind to be stale and another to be fresh, so every process has one ``StaleView`` per
kind.  A view limits the revision up to which watches deliver:

    lag(s)       a change is delivered s seconds after it was made
    hold(s)      changes after the current revision wait until the hold ends
    travel(n)    the view begins n changes of this kind in the past, and is held there

``travel`` stands for a new process that connects to an API server whose watch cache is behind.  The
protocol says who may be given old data: a read with ``resourceVersion=0`` may be of any age; a read
without a resourceVersion is consistent, and one with a number is at least as new as that number.  So
``travel`` changes the answer to ``resourceVersion=0`` only; for others it is a hold.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from math import inf

from myrmidon.apiserver.store import ObjectStore
from myrmidon.testing.simulation.trace import Commit


class StaleView:
    """How one process sees one kind."""

    __slots__ = ("_wakes", "held_at", "held_until", "lag", "lag_until", "noticed")

    def __init__(self) -> None:
        self.lag = self.lag_until = 0.0
        self.held_at: int | None = None
        self.held_until = 0.0
        self._wakes: dict[Callable[[], None], None] = {}
        self.noticed: Callable[[], None] | None = None
        """Called when the view has kept an event back, so that the fault counts as fired."""

    def delay(self, seconds: float, until: float) -> None:
        """Let changes be delivered that much later, until a time."""
        self.lag, self.lag_until = seconds, until
        self.wake()

    def hold(self, revision: int, until: float) -> None:
        """Deliver no change after a revision until a time."""
        self.held_at, self.held_until = revision, until
        self.wake()

    def release(self) -> None:
        """Deliver everything."""
        self.lag = self.lag_until = self.held_until = 0.0
        self.held_at = None
        self.wake()

    def is_fresh(self, now: float) -> bool:
        """Whether changes are delivered at once."""
        return now >= self.held_until and now >= self.lag_until

    def limit(self, commits: Sequence[Commit], now: float) -> tuple[int | None, float]:
        """Return up to which revision is delivered now (None: all), and when that changes next."""
        if self.held_at is not None and now < self.held_until:
            return self.held_at, self.held_until
        if now >= self.lag_until or not commits:
            return None, inf
        # The sum, and not a difference of times: rounding must not let a timer fire too early.
        index = bisect_right(commits, now, key=lambda commit: commit.at + self.lag)
        if index == len(commits):
            return None, inf
        return commits[index].revision - 1, min(commits[index].at + self.lag, self.lag_until)

    def follow(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call ``wake`` when the limit is changed; return a function to stop that."""
        self._wakes[wake] = None
        return lambda: self._wakes.pop(wake, None)

    def wake(self) -> None:
        """Wake the watches of this view."""
        for wake in tuple(self._wakes):
            wake()


def revision_before(store: ObjectStore, resource: str, back: int) -> int:
    """Return the revision before the last ``back`` changes of a resource."""
    changes = store.changes(resource, after=store.compacted)
    if not changes or back <= 0:
        return store.revision
    return changes[max(len(changes) - back, 0)].revision - 1
