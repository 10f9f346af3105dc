"""Shrinking: from a plan that fails to the shortest one that fails in the same way.

In this order: fewer faults (ddmin), simpler kinds of faults, earlier moments, fewer edits, no latency.
The same failure means the same oracle and the same object.
"""

from collections.abc import Iterator

from myrmidon.testing.simulation import actions as do
from myrmidon.testing.simulation.plan import Plan, PlannedFault
from myrmidon.testing.simulation.references import References
from myrmidon.testing.simulation.result import SimulationFailure, SimulationResult

RUNS_MAX = 300
_SIMPLER = (do.crash("after"), do.applied_then("timeout"), do.lost(), do.reply(409))


def shrunk(
    references: References, failure: SimulationFailure, runs_max: int = RUNS_MAX
) -> SimulationFailure:
    """Return the same failure under a plan that is as short as possible."""
    result = failure.result
    if result is None or not result.plan:
        return failure
    search = _Search(references, failure, result, runs_max)
    search.minimise()
    return search.best


class _Search:
    def __init__(
        self,
        references: References,
        failure: SimulationFailure,
        result: SimulationResult,
        runs_max: int,
    ) -> None:
        self._references, self._signature = references, failure.signature
        self.best, self._seed, self._left = failure, result.seed, runs_max
        self._plan, self._jitter = result.plan, result.jitter

    def minimise(self) -> None:
        self._drop_faults()
        if self._jitter and self._fails(self._plan, 0.0):
            self._jitter = 0.0
        for index in range(len(self._plan)):
            self._first(self._simpler(index))
            self._first(self._earlier(index))
        self._first(self._fewer_edits())

    def _drop_faults(self) -> None:
        size = max(len(self._plan) // 2, 1)
        while size >= 1 and len(self._plan) > 1:
            for start in range(0, len(self._plan), size):
                kept = self._plan.faults[:start] + self._plan.faults[start + size :]
                if kept and self._fails(self._plan.with_faults(kept), self._jitter):
                    break
            else:
                size //= 2
                continue
            size = min(size, max(len(self._plan) // 2, 1))

    def _first(self, candidates: Iterator[Plan]) -> None:
        for plan in candidates:
            if self._fails(plan, self._jitter):
                return

    def _simpler(self, index: int) -> Iterator[Plan]:
        fault = self._plan.faults[index]
        if fault.trigger.on != "write" or fault.action in _SIMPLER:
            return
        for action in _SIMPLER:
            yield self._with(index, PlannedFault(fault.trigger, action))

    def _earlier(self, index: int) -> Iterator[Plan]:
        fault = self._plan.faults[index]
        for number in range(1, fault.trigger.number):
            moment = type(fault.trigger)(
                fault.trigger.on,
                number,
                fault.trigger.verb,
                fault.trigger.kind,
                fault.trigger.state,
            )
            yield self._with(index, PlannedFault(moment, fault.action))

    def _fewer_edits(self) -> Iterator[Plan]:
        edits = self._references.facts.edits
        for skipped in range(edits - 1, 0, -1):
            yield Plan(self._plan.faults, tuple(range(skipped)))

    def _with(self, index: int, fault: PlannedFault) -> Plan:
        faults = list(self._plan.faults)
        faults[index] = fault
        return self._plan.with_faults(faults)

    def _fails(self, plan: Plan, jitter: float) -> bool:
        """Whether a plan fails in the same way; if so, go on from it."""
        if self._left <= 0 or (plan == self._plan and jitter == self._jitter):
            return False
        self._left -= 1
        result = self._references.run(plan, self._seed, jitter)
        found = next((one for one in result.failures if one.signature == self._signature), None)
        if found is None or not result.all_fired:
            return False
        found.result = result
        self.best, self._plan = found, plan
        return True
