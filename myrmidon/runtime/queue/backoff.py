"""Backoff: the delay before the next attempt after failures, per key."""

from collections.abc import Callable, Hashable
from datetime import timedelta
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Backoff(Generic[K]):
    """Delays that double with each consecutive failure of a key, up to a maximum.

    A success resets the delay of a key, and so does a new revision of its object (its generation
    and its reconcile token): a corrected spec should not wait because the former one failed.  Other
    watch events do not.  ``chance``
    returns numbers from 0 to 1 for the jitter, so that objects that failed together are not retried
    together.
    """

    def __init__(
        self, shortest: timedelta, longest: timedelta, chance: Callable[[], float]
    ) -> None:
        self._shortest, self._longest = shortest.total_seconds(), longest.total_seconds()
        self._chance = chance
        self._failures: dict[K, tuple[int, Hashable]] = {}  # key: (failures in a row, revision)

    def failed(self, key: K, revision: Hashable = 0) -> float:
        """Count a failure of the key; return the seconds to wait."""
        count, seen = self._failures.get(key, (0, revision))
        count = count + 1 if seen == revision else 1
        self._failures[key] = (count, revision)
        # The exponent is bounded: a key that fails for months must not overflow the float.
        delay = min(self._shortest * float(1 << min(count - 1, 30)), self._longest)
        return delay * (0.75 + 0.25 * self._chance())

    def succeeded(self, key: K) -> None:
        """Forget the failures of a key."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """Return the number of consecutive failures of a key."""
        return self._failures.get(key, (0, 0))[0]
