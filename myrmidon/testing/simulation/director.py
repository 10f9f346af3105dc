"""Director: counts the moments of a run, and says which faults of the plan are due.

It also knows which faults had an effect.  A fault whose moment never came, or that changed nothing
(an old view that was never read), must not count as survived.
"""

from collections.abc import Iterator

from myrmidon.api.requests.transport import HttpRequest
from myrmidon.testing.simulation.plan import Plan, PlannedFault
from myrmidon.testing.simulation.requests import RequestSubject, name_in
from myrmidon.testing.simulation.triggers import Moment

STORM_MAX = 600
"""Writes to one object, which no scenario of a few edits explains."""
_STORM_UNNAMED_MAX = 5000  # creates with generated names, of all objects of a kind


class Director:
    """The faults of one plan, and how far the run has come."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.fired = [False] * len(plan)
        self.requests = self.writes = 0
        self.events: dict[str, int] = {}
        self._written: dict[tuple[str, str, str], int] = {}
        self._numbered: dict[tuple[str, int], list[int]] = {}
        self._matching: list[tuple[int, Moment]] = []
        self._seen = [0] * len(plan)
        for index, fault in enumerate(plan):
            trigger = fault.trigger
            if trigger.on in ("write", "request") and trigger.is_general:
                self._numbered.setdefault((trigger.on, trigger.number), []).append(index)
            elif trigger.on in ("write", "event"):
                self._matching.append((index, trigger))

    def at_request(self, subject: RequestSubject, state: str = "") -> list[int]:
        """Count a request; return the faults that are due now, by their index in the plan."""
        self.requests += 1
        due = self._numbered.get(("request", self.requests), [])
        if subject.counts:
            self.writes += 1
            due = [*due, *self._numbered.get(("write", self.writes), ())]
            if self._matching:
                due += self._matches("write", subject.verb, subject.kind, state)
        return due

    def at_event(self, kind: str) -> list[int]:
        """Count the delivery of a watch event; return the faults that are due now."""
        self.events[kind] = self.events.get(kind, 0) + 1
        return list(self._matches("event", "", kind, "")) if self._matching else []

    def is_storm(self, subject: RequestSubject, request: HttpRequest) -> bool:
        """Count a write; return whether its object was written too often for any scenario."""
        name = name_in(subject, request)
        key = (subject.kind, subject.namespace, name)
        count = self._written[key] = self._written.get(key, 0) + 1
        return count > (STORM_MAX if name else _STORM_UNNAMED_MAX)

    def at(self, moment: str) -> list[tuple[int, PlannedFault]]:
        """Return the faults of a time or of the end."""
        found = enumerate(self.plan)
        return [(index, fault) for index, fault in found if fault.trigger.on == moment]

    def _matches(self, on: str, verb: str, kind: str, state: str) -> Iterator[int]:
        for index, trigger in self._matching:
            if trigger.on != on or (trigger.kind and trigger.kind != kind):
                continue
            if (trigger.verb and trigger.verb != verb) or (
                trigger.state and trigger.state != state
            ):
                continue
            self._seen[index] += 1
            if self._seen[index] == trigger.number:
                yield index

    def mark(self, index: int) -> None:
        """Note that a fault had an effect."""
        self.fired[index] = True

    @property
    def all_fired(self) -> bool:
        """Whether every fault of the plan had an effect."""
        return all(self.fired)
