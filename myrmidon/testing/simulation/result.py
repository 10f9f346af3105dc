"""SimulationResult and SimulationFailure: what one run of a scenario showed."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.testing.simulation.plan import Plan
from myrmidon.testing.simulation.story import told
from myrmidon.testing.simulation.trace import Trace


@dataclass(slots=True)
class SimulationFailure:
    """A property that did not hold: which oracle, about which object, and what was wrong."""

    oracle: str  # "O1" ... "O14"
    role: str  # the object or property, the same in every run: "Pod shop-0", "always data is kept"
    message: str
    at: float = 0.0
    result: "SimulationResult | None" = field(default=None, repr=False, compare=False)

    @property
    def signature(self) -> tuple[str, str]:
        """What makes two failures the same for shrinking."""
        return (self.oracle, self.role)

    def story(self) -> str:
        """Return what happened, in plain sentences."""
        lines = [str(self)]
        if self.result is not None:
            lines += told(self.result.trace)
            lines.append(f"plan: {self.result.plan}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return f"{self.oracle} {self.role}: {self.message}"


class SimulationError(AssertionError):
    """A run violated a property."""

    def __init__(self, failures: "list[SimulationFailure]") -> None:
        self.failures = failures
        super().__init__("\n\n".join([failures[0].story(), *map(str, failures[1:])]))


@dataclass(slots=True)
class SimulationResult:
    """What one run of a scenario showed."""

    scenario: str
    seed: int
    plan: Plan
    trace: Trace
    failures: list[SimulationFailure] = field(default_factory=list)
    fired: tuple[bool, ...] = ()
    end: dict[str, Json] = field(default_factory=dict)
    """The objects at the end, normalised, by role."""
    summary: dict[tuple[str, str], int] = field(default_factory=dict)
    """How often objects of a role were created and deleted: ``("create", "Pod shop-0")``."""
    facts: "Facts | None" = None
    """What the explorer learns from a run."""
    ready: Any = None
    """For a reference: the children that each spec leads to (``oracles.conditions``)."""
    in_outage: dict[str, Json] | None = None
    """The objects while a part was broken for ever, normalised; None without an outage."""
    outage_seconds: float = 0.0
    """When ``in_outage`` was taken."""
    is_timed: bool = False
    """Whether passes were planned for later when the controllers had settled."""
    virtual_seconds: float = 0.0
    jitter: float = 0.0
    """The greatest latency of the schedule; 0 for the plain one."""
    finished: bool = False

    @property
    def all_fired(self) -> bool:
        """Whether every fault of the plan had an effect; otherwise the run proves nothing."""
        return all(self.fired)

    @property
    def trace_hash(self) -> str:
        """The hash of everything that happened."""
        return self.trace.digest()

    def check(self) -> "SimulationResult":
        """Return the result; raise ``SimulationError`` if a property did not hold."""
        __tracebackhide__ = True
        if self.failures:
            for failure in self.failures:
                failure.result = self
            raise SimulationError(self.failures)
        return self


class WriteFact(NamedTuple):
    """One numbered write of a run."""

    verb: str
    kind: str
    name: str
    subresource: str
    before: int  # the revision of the store before and after it
    after: int
    at: float
    outcome: str
    state: str = ""  # the state of the controller that declared it; only in references


@dataclass(slots=True)
class Facts:
    """What the explorer needs to know of a run to plan others."""

    writes: list[WriteFact] = field(default_factory=list)
    """One entry for each numbered write."""
    events: dict[str, int] = field(default_factory=dict)
    """How many watch events of each kind were delivered."""
    stale_reads: list[str] = field(default_factory=list)
    """The kinds that were listed with resourceVersion=0."""
    requests: int = 0
    hasty: bool = False
    """Whether the user made a step before the controllers had settled after the step before."""
    edits: int = 0
    steps: list[tuple[str, str, Json]] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    """The kinds that are reconciled."""
    replicas: int = 1
    made: dict[str, Json] = field(default_factory=dict)
    children: list[str] = field(default_factory=list)
    """The objects that controllers created, as ``Kind/namespace/name``."""
    remaining: frozenset[str] = frozenset()
    """In a run without faults: the objects that exist at the end, as ``Kind/namespace/name``."""
    is_plain: bool = False
    begun: dict[tuple[str, str], int] = field(default_factory=dict)
    """The summary of what controllers had made before the scenario's first edit."""
    taken: int = 0
    """How many steps the scenario made."""
    owners: dict[str, list[str]] = field(default_factory=dict)
    """The roles of the owners of each object at the end."""
    interfered: list[tuple[int, str, str, Json]] = field(default_factory=list)
    """The steps of a plan's faults: after how many steps of the scenario, and what they did."""
