"""Rate limits of passes: per object, and for the retries of all objects of a controller.

A worker that has taken a due turn asks ``PassRates.not_before`` whether the pass may start now.  If
not, the turn goes back into the queue with a later due time: it keeps its causes, and changes that
come meanwhile join it, so no wake-up is lost.

- ``ObjectRate``: at most n passes in any 60 seconds for one object.  It remembers when the last n
  passes began.
- ``RetryBudget``: a token bucket for retries.  A retry that finds the bucket empty reserves the next
  free slot, in the order in which the retries came due, and is not charged again when that time has
  come.  A change that comes meanwhile makes the pass due at once; its slot is then lost, which only
  makes the others slower.

Neither reads a clock: callers pass the time.
"""

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

_WINDOW_SECONDS = 60.0


class ObjectRate(Generic[K]):
    """When each key may have its next pass: at most ``passes`` in any 60 seconds."""

    def __init__(self, passes: int) -> None:
        self._passes = passes
        self._began: dict[K, deque[float]] = {}

    def not_before(self, key: K) -> float:
        """Return when the next pass over the key may begin; minus infinity for any time."""
        began = self._began.get(key)
        if began is None or len(began) < self._passes:
            return float("-inf")
        return began[0] + _WINDOW_SECONDS

    def began(self, key: K, now: float) -> None:
        """Record that a pass over the key begins."""
        known = self._began.get(key)
        if known is None:
            known = self._began[key] = deque(maxlen=self._passes)
        known.append(now)

    def forget(self, key: K) -> None:
        """Forget a key whose object is gone."""
        self._began.pop(key, None)


class RetryBudget:
    """A token bucket: ``rate`` retries per second, and ``burst`` at once."""

    def __init__(self, rate: float, burst: int) -> None:
        self._spacing = 1.0 / rate
        self._tolerance = (burst - 1) * self._spacing
        self._full_at = float("-inf")  # when the bucket would be full again

    def reserve(self, now: float) -> float:
        """Reserve a token for a retry; return when it may begin, ``now`` if at once."""
        begins_at = max(now, self._full_at - self._tolerance)
        self._full_at = max(self._full_at, now) + self._spacing
        return begins_at
