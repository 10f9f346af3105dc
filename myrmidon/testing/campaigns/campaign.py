"""Campaign: an exploration with progress, and with the faults, seeds and depth that were chosen.

It uses an explorer, and gives it a filter and an observer: faults of a class that was not chosen are left
out, and each result is counted in the coverage and shown to the caller.  A campaign in which a chosen class
never had an effect fails, because it says nothing about that class.
"""

from dataclasses import dataclass, replace

from myrmidon.errors import UsageError
from myrmidon.testing.campaigns.coverage import Coverage
from myrmidon.testing.campaigns.reference_states import controllers_in
from myrmidon.testing.simulation.actions import KINDS
from myrmidon.testing.simulation.explorer import Budget, Explorer, Observe, SimulationReport
from myrmidon.testing.simulation.result import SimulationResult
from myrmidon.testing.simulation.scenarios import Scenario

# Words for several kinds of faults at once.
CLASSES: dict[str, tuple[str, ...]] = {
    "stale": ("lag", "hold", "travel"),
    "ambiguous": ("applied_then", "lost"),
    "refused": ("reply", "rbac"),
    "leader": ("lease", "pause"),
}
_FAILURES_MAX = 5


@dataclass(frozen=True, slots=True)
class CampaignOptions:
    """How much of a scenario is explored, and how."""

    budget: str = "ci"
    seed: int = 0
    seeds: int | None = None
    """The number of random plans; None for what the budget says."""
    depth: int | None = None
    """How many faults are enumerated together, 1 or 2; None for what the budget says."""
    faults: str = ""
    """The faults that are tried, such as ``crash,stale``; "" for all."""
    jobs: int = 1
    stop_at: int = _FAILURES_MAX
    share: float = 1.0
    """The part of a budget of time that this scenario gets."""

    def read(self) -> Budget:
        """Return the budget with the options that replace parts of it; raise ``UsageError``."""
        fault_classes(self.faults)
        found = Budget.read(self.budget)
        if found.seconds is not None:
            found = replace(found, seconds=found.seconds * self.share)
        if self.seeds is not None:
            found = replace(found, swarm=self.seeds)
        if self.depth is not None:
            found = replace(found, depth=self.depth)
        return found


def fault_classes(text: str) -> dict[str, frozenset[str]]:
    """Return the kinds of faults of each word in a list such as ``crash,stale``."""
    found: dict[str, frozenset[str]] = {}
    for word in filter(None, (part.strip() for part in text.split(","))):
        if word not in KINDS and word not in CLASSES:
            raise UsageError(
                f"{word!r} is not a kind of fault.\n"
                f"  fix: use some of {', '.join([*KINDS, *CLASSES])}, separated by commas"
            )
        found[word] = frozenset({word} if word in KINDS else CLASSES[word])
    return found


class Campaign:
    """One exploration of a scenario with options."""

    def __init__(
        self,
        scenario: Scenario,
        options: CampaignOptions,
        observe: Observe | None = None,
        *,
        covers: bool = False,
    ) -> None:
        self._scenario, self._observe, self._covers = scenario, observe, covers
        self._classes = fault_classes(options.faults)
        chosen: frozenset[str] = frozenset().union(*self._classes.values())
        self._explorer = Explorer(
            scenario, options.read(), options.seed, options.stop_at,
            keeps=(lambda fault: fault.action.kind in chosen) if chosen else None,
            observe=self._take,
        )  # fmt: skip
        self.coverage: Coverage | None = None
        """With ``covers``: the coverage, from the first run with a fault on."""

    def explore(self, jobs: int, *, shrink: bool) -> SimulationReport:
        """Run all phases; return the report."""
        return self._explorer.explore(jobs, shrink=shrink)

    def never_fired(self) -> list[str]:
        """Return the chosen words none of whose faults had an effect in any run."""
        fired = {name.partition(" ")[0] for name in self._explorer.report.fired}
        return [word for word, kinds in self._classes.items() if not kinds & fired]

    def _take(self, result: SimulationResult) -> None:
        if self._covers and self.coverage is None:
            controllers = controllers_in(self._scenario)
            self.coverage = Coverage(self._explorer.references.main, controllers)
        if self.coverage is not None:
            self.coverage.take(result)
        if self._observe is not None:
            self._observe(result)
