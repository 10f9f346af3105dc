"""Fair time: the time of a run in which no fault was in force.

A property such as "an edit leads to Ready within a minute" cannot hold while the process is down or the
server refuses everything.  Under fairness only the time counts in which the controller could work, so the
bound is the same with and without faults.

A fault is in force from its moment until its duration is over: the time until the restart of a killed
process, the length of a pause, a hold or an outage.  When all faults are healed, none is in force.
"""

from math import inf

from myrmidon.testing.simulation.actions import Action

_TIMEOUT_SECONDS = 30.0
_STALL_SECONDS = 120.0
_MOMENT_SECONDS = 5.0  # a refusal or a broken watch: the client tries again after a backoff


class FairTime:
    """The intervals of a run in which a fault was in force."""

    def __init__(self) -> None:
        self._unfair: list[tuple[float, float]] = []

    def disturb(self, action: Action, now: float) -> None:
        """Note a fault."""
        self._unfair.append((now, now + _duration(action)))

    def heal(self, now: float) -> None:
        """Note that no fault is in force any more."""
        self._unfair = [(begun, min(ended, now)) for begun, ended in self._unfair]

    def seconds(self, begun: float, now: float) -> float:
        """Return how much of the time between two moments was fair."""
        total, reached = 0.0, begun
        for start, end in sorted(self._unfair):
            if start > reached:
                total += max(min(start, now) - reached, 0.0)
            reached = max(reached, end)
        return total + max(now - reached, 0.0)


def _duration(action: Action) -> float:
    if action.kind in ("outage", "schedule", "malformed"):
        return inf
    if action.kind == "lost" or action.name == "applied_then timeout":
        return _TIMEOUT_SECONDS
    if action.name == "watch stall":
        return _STALL_SECONDS
    return max(action.seconds, action.lasts) + _MOMENT_SECONDS
