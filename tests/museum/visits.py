"""How an exhibit is examined: the bug until it is found, the correction under as many plans as asked."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import count, islice
from typing import Any

from myrmidon.testing.harness.clock import real_seconds
from myrmidon.testing.simulation.enumeration import depth_one
from myrmidon.testing.simulation.explorer import Budget, Explorer
from myrmidon.testing.simulation.plan import Plan
from myrmidon.testing.simulation.references import References
from myrmidon.testing.simulation.result import SimulationFailure
from myrmidon.testing.simulation.swarm import drawn
from tests.museum.kit import Exhibit


@dataclass
class Finding:
    """What was found about an exhibit."""

    exhibit: str
    source: str
    found: bool = False
    oracle: str = ""
    runs: int = 0
    """Runs until the first failure of the buggy controller, the references included."""
    ms: float = 0.0
    shrunk_faults: int | None = None
    plan: str = ""
    twin_runs: int = 0
    false_alarms: int = 0
    alarms: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the finding for museum.json."""
        return asdict(self)


def find(exhibit: Exhibit, *, shrink: bool = False) -> Finding:
    """Explore the buggy controller until the first failure."""
    made = Finding(exhibit.name, exhibit.source)
    explorer = Explorer(exhibit.scenario(exhibit.buggy), Budget(swarm=200), 0, 1)
    began = real_seconds()
    report = explorer.explore(1, shrink=False)
    made.ms, made.runs = (real_seconds() - began) * 1000, report.found_at
    named = [one for one in report.failures if one.oracle in exhibit.oracles]
    made.found = bool(named) and made.runs <= exhibit.max_runs
    made.oracle = " ".join(dict.fromkeys(one.oracle for one in report.failures))
    if named and shrink:
        _note_shrunk(made, explorer, named[0])
    return made


def _note_shrunk(made: Finding, explorer: Explorer, failure: SimulationFailure) -> None:
    from myrmidon.testing.simulation.shrinking import shrunk  # noqa: PLC0415 - only here

    short = shrunk(explorer.references, failure)
    if short.result is not None:
        made.shrunk_faults, made.plan = len(short.result.plan), str(short.result.plan)


class Twin:
    """The corrected controller, under one plan after the other."""

    def __init__(self, exhibit: Exhibit) -> None:
        self._references = References(exhibit.scenario(exhibit.fixed))
        self.runs = self._references.runs
        self.failures = list(self._references.failures)
        self._plans = self._all_plans()

    def sample(self, plans_max: int) -> None:
        """Run so many plans of depth one, spread over all of them."""
        plans = list(depth_one(self._references.facts))
        for plan in plans[:: max(len(plans) // plans_max, 1)]:
            self._run(plan, None, 0.0)

    def run(self, runs: int) -> None:
        """Run so many further plans: those of depth one, then random ones."""
        for plan, seed, jitter in islice(self._plans, runs):
            self._run(plan, seed, jitter)

    def _all_plans(self) -> Iterator[tuple[Plan, int | None, float]]:
        facts = self._references.facts
        for plan in depth_one(facts):
            yield plan, None, 0.0
        for seed in count():
            plan, jitter = drawn(seed, facts)
            yield plan, seed, jitter

    def _run(self, plan: Plan, seed: int | None, jitter: float) -> None:
        self.runs += 1
        self.failures += self._references.run(plan, seed, jitter).failures
