"""Explorer: runs a scenario under every plan that its budget allows, and reports what failed.

The phases, in this order: references and their envelope; every fault of depth one, start states
included; pairs of faults (depth two); random plans (swarm).  ``ci`` leaves out depth two and does some
random plans; ``nightly`` does everything; a duration such as ``10s`` or ``2m`` does everything in this
order, and goes on with random plans until then.

A run whose faults did not all have an effect is not counted as passed.

Two functions extend an exploration from outside: ``keeps`` chooses which faults are tried, and
``observe`` sees the result of every run.  ``campaigns`` is made of these.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any, TypeAlias

from myrmidon.errors import UsageError
from myrmidon.testing.harness.clock import real_seconds
from myrmidon.testing.harness.garbage import rare_collections
from myrmidon.testing.simulation.enumeration import depth_one, depth_two, world_key
from myrmidon.testing.simulation.plan import Plan, PlannedFault
from myrmidon.testing.simulation.references import References
from myrmidon.testing.simulation.result import SimulationError, SimulationFailure, SimulationResult
from myrmidon.testing.simulation.scenarios import Scenario, as_scenario
from myrmidon.testing.simulation.shrinking import shrunk
from myrmidon.testing.simulation.swarm import drawn
from myrmidon.testing.simulation.workers import Work, Workers

_SWARM = {"ci": 50, "nightly": 20_000}
_FAILURES_MAX = 5
_MISSES_MAX = 2000
"""Random plans in a row without a fault that is kept: such faults are never drawn."""

Keeps: TypeAlias = Callable[[PlannedFault], bool]
"""Whether a fault is tried."""
Observe: TypeAlias = Callable[[SimulationResult], None]
"""Called with the result of each run, in order."""
_BUDGET = re.compile(r"(\d+(?:\.\d+)?)([smh])")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Budget:
    """How much of a scenario is explored."""

    seconds: float | None = None
    swarm: int | None = None
    depth: int = 1

    @classmethod
    def read(cls, text: str) -> "Budget":
        """Return the budget of a text: ci, nightly, or a duration such as 10s, 2m or 1h."""
        if text in _SWARM:
            return cls(swarm=_SWARM[text], depth=2 if text == "nightly" else 1)
        found = _BUDGET.fullmatch(text)
        if found is None:
            raise UsageError(
                f"the budget {text!r} is unknown.\n  fix: use ci, nightly, or a duration: 10s, 2m, 1h"
            )
        return cls(seconds=float(found[1]) * _UNITS[found[2]], depth=2)


@dataclass(slots=True)
class SimulationReport:
    """What an exploration found."""

    scenario: str
    runs: int = 0
    vacuous: int = 0
    """Runs in which a fault of the plan had no effect; they prove nothing."""
    fired: dict[str, int] = field(default_factory=dict)
    """How often each kind of fault had an effect."""
    failures: list[SimulationFailure] = field(default_factory=list)
    """One for each oracle and object, with the shortest plan that was found."""
    seconds: float = 0.0
    found_at: int = 0
    """The number of runs until the first failure."""

    def check(self) -> "SimulationReport":
        """Return the report; raise ``SimulationError`` if a run violated a property."""
        __tracebackhide__ = True
        if self.failures:
            raise SimulationError(self.failures)
        return self

    def __str__(self) -> str:
        rate = f", {self.runs / self.seconds:.0f} per second" if self.seconds else ""
        lines = [f"{self.scenario}: {self.runs} runs{rate}, {self.vacuous} without an effect"]
        return "\n".join([*lines, *map(str, self.failures)])


def explore(
    target: Any,
    workload: Iterable[Any] = (),
    *,
    budget: str | None = None,
    jobs: int = 1,
    seed: int = 0,
    shrink: bool = True,
    stop_at: int = _FAILURES_MAX,
    shard: tuple[int, int] = (0, 1),
) -> SimulationReport:
    """Run a scenario under every plan that the budget allows; return what was found.

    ``jobs``: the number of processes.  ``shrink``: whether failing plans are made shorter.
    ``stop_at``: after so many different failures the exploration ends.  ``shard``: of n parts of the
    plans, explore the i-th: ``(0, 4)`` to ``(3, 4)`` on four machines cover everything.
    """
    scenario = as_scenario(target, list(workload))
    chosen = Budget.read(budget or scenario.budget)
    return Explorer(scenario, chosen, seed, stop_at, shard).explore(jobs, shrink=shrink)


class Explorer:
    """One exploration.

    - ``keeps``: which faults are tried.  A plan of the enumeration is run if all its faults are kept; a
      random plan loses the others.  Default: all.
    - ``observe``: called with the result of each run.
    """

    def __init__(
        self,
        scenario: Scenario,
        budget: Budget,
        seed: int,
        stop_at: int,
        shard: tuple[int, int] = (0, 1),
        *,
        keeps: Keeps | None = None,
        observe: Observe | None = None,
    ) -> None:
        self._keeps, self._observe = keeps, observe
        self._scenario, self._budget, self._seed, self._stop_at = scenario, budget, seed, stop_at
        self._shard = shard
        self.report = SimulationReport(scenario.name)
        self._seen: set[tuple[str, str]] = set()
        self._worlds: set[tuple[object, ...]] = set()
        self._first: list[tuple[Plan, Any]] = []

    def explore(self, jobs: int, *, shrink: bool) -> SimulationReport:
        """Run all phases; return the report."""
        with rare_collections():
            return self._explore(jobs, shrink=shrink)

    def _explore(self, jobs: int, *, shrink: bool) -> SimulationReport:
        started = real_seconds()
        self._ends_at = None if self._budget.seconds is None else started + self._budget.seconds
        references = self.references = References(self._scenario, self._seed)
        self.report.runs += references.runs
        self._take(references.failures)
        if references.main.finished and not self.report.failures:
            for result in self._results(references, jobs):
                self._count(result)
                if self._observe is not None:
                    self._observe(result)
                if self._is_over():
                    break
        if shrink:
            self.report.failures = [
                shrunk(references, failure) if failure.result is not None else failure
                for failure in self.report.failures
            ]
        self.report.seconds = real_seconds() - started
        return self.report

    def _results(self, references: References, jobs: int) -> Iterator[SimulationResult]:
        phases = [self._enumerated(references), self._drawn(references)]
        if self._budget.depth > 1:
            phases.insert(1, self._pairs())  # needs the results of the first phase
        for phase in phases:
            yield from _run_all(
                references, islice(phase, self._shard[0], None, self._shard[1]), jobs
            )

    def _enumerated(self, references: References) -> Iterator[Work]:
        for plan in filter(self._is_kept, depth_one(references.facts)):
            yield plan, None, 0.0

    def _drawn(self, references: References) -> Iterator[Work]:
        numbers = count() if self._budget.swarm is None else range(self._budget.swarm)
        misses = 0
        for number in numbers:
            seed = self._seed + number
            plan, jitter = drawn(seed, references.facts)
            if self._keeps is not None:
                plan = plan.with_faults(filter(self._keeps, plan))
            misses = 0 if plan.faults else misses + 1
            if misses >= _MISSES_MAX:
                return
            if plan.faults:
                yield plan, seed, jitter

    def _pairs(self) -> Iterator[Work]:
        for first, facts in self._first:
            for plan in filter(self._is_kept, depth_two(first, facts)):
                yield plan, None, 0.0

    def _is_kept(self, plan: Plan) -> bool:
        return self._keeps is None or all(map(self._keeps, plan))

    def _count(self, result: SimulationResult) -> None:
        report = self.report
        report.runs += 1
        for fault, fired in zip(result.plan, result.fired, strict=True):
            if fired:
                report.fired[fault.action.name] = report.fired.get(fault.action.name, 0) + 1
        if not result.all_fired:
            report.vacuous += 1
        self._take(result.failures)
        if self._budget.depth > 1 and len(result.plan) == 1 and result.facts is not None:
            key = world_key(result.plan, result.facts)
            if key is None or key not in self._worlds:
                self._worlds |= {key} if key is not None else set()
                self._first.append((result.plan, result.facts))

    def _take(self, failures: Iterable[SimulationFailure]) -> None:
        for failure in failures:
            if failure.signature not in self._seen:
                self._seen.add(failure.signature)
                self.report.failures.append(failure)
                self.report.found_at = self.report.found_at or self.report.runs

    def _is_over(self) -> bool:
        if len(self.report.failures) >= self._stop_at:
            return True
        return self._ends_at is not None and real_seconds() >= self._ends_at


def _run_all(references: References, work: Iterator[Work], jobs: int) -> Iterator[SimulationResult]:
    if jobs == 1:
        yield from (references.run(*one) for one in work)
        return
    with Workers(references, jobs) as workers:
        for task, result in workers.run(work):
            yield references.run(*task) if result.failures else result
