"""The test kit: run controllers against an embedded or a real API server.

harness/        a test's cluster: embedded with virtual time, or real
faults          lost answers, refused connections, broken watches, crashes
external        a stand-in for an external system, with the same faults
generated_role  controllers with exactly the rights of their generated role
readiness       when a test counts an object as ready
strategies      Hypothesis strategies for resources, edits and faults
apply_laws      property tests of apply semantics for a kind
conversions     property tests of the conversions between its versions
plan_strategies Hypothesis strategies for plans of the simulator, and a rule-based machine
convergence     a property test of controllers: the end depends on the specs alone
end_states      the objects of a controller without what differs between any two runs
pytest_plugin   the fixture ``harness``, and the collection of scenarios
simulation/     the simulator: a scenario under every fault at every moment
campaigns/      scenarios from samples, explorations with options, and their reports

``strategies`` and ``convergence`` need hypothesis, so they are not imported here.  The names of the
simulator, of ``apply_laws`` and of ``plan_strategies`` are imported on first use: a test without them does
not pay for them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from myrmidon.apiserver.auth.users import User
from myrmidon.apiserver.server import ApiServer
from myrmidon.testing.external import ExternalStandIn
from myrmidon.testing.faults import (
    Break,
    Crash,
    Cut,
    Delay,
    Expire,
    Fault,
    Faults,
    FaultyTransport,
    Hang,
    Lose,
    Refuse,
    Script,
    Stall,
    Status,
    Truncate,
    is_watch,
    is_write,
)
from myrmidon.testing.harness.clock import DeadlockError, VirtualClock, VirtualTimeLoop, run
from myrmidon.testing.harness.cluster import Cluster
from myrmidon.testing.harness.failures import NotAtRestError, NotSettledError
from myrmidon.testing.harness.harness import Harness
from myrmidon.testing.harness.live import LiveCluster
from myrmidon.testing.harness.recording import Exchange, RecordingTransport

if TYPE_CHECKING:
    from myrmidon.testing.apply_laws import ApplyLawError, check_apply_laws
    from myrmidon.testing.conversions import ConversionLawError, check_conversions
    from myrmidon.testing.plan_strategies import plans, scenario_machine
    from myrmidon.testing.simulation import (
        Plan,
        PlannedFault,
        Scenario,
        SimulatedExternal,
        Simulation,
        SimulationError,
        SimulationFailure,
        SimulationReport,
        SimulationResult,
        World,
        explore,
        simulate,
    )
    from myrmidon.testing.simulation.scenarios import scenario

_SIMULATION = {
    "Plan": "plan",
    "PlannedFault": "plan",
    "Scenario": "scenarios",
    "SimulatedExternal": "externals",
    "Simulation": "simulation",
    "SimulationError": "result",
    "SimulationFailure": "result",
    "SimulationReport": "explorer",
    "SimulationResult": "result",
    "World": "world",
    "explore": "explorer",
    "scenario": "scenarios",
    "simulate": "simulating",
}


_HYPOTHESIS = {
    "ApplyLawError": "apply_laws",
    "check_apply_laws": "apply_laws",
    "ConversionLawError": "conversions",
    "check_conversions": "conversions",
    "plans": "plan_strategies",
    "scenario_machine": "plan_strategies",
}


def __getattr__(name: str) -> Any:
    """Import a name of the simulator, or one that needs hypothesis, on first use."""
    if name in _HYPOTHESIS:
        return getattr(import_module(f"{__name__}.{_HYPOTHESIS[name]}"), name)
    if name not in _SIMULATION:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.simulation.{_SIMULATION[name]}"), name)


__all__ = [
    "ApiServer",
    "ApplyLawError",
    "Break",
    "Cluster",
    "ConversionLawError",
    "Crash",
    "Cut",
    "DeadlockError",
    "Delay",
    "Exchange",
    "Expire",
    "ExternalStandIn",
    "Fault",
    "Faults",
    "FaultyTransport",
    "Hang",
    "Harness",
    "LiveCluster",
    "Lose",
    "NotAtRestError",
    "NotSettledError",
    "Plan",
    "PlannedFault",
    "RecordingTransport",
    "Refuse",
    "Scenario",
    "Script",
    "SimulatedExternal",
    "Simulation",
    "SimulationError",
    "SimulationFailure",
    "SimulationReport",
    "SimulationResult",
    "Stall",
    "Status",
    "Truncate",
    "User",
    "VirtualClock",
    "VirtualTimeLoop",
    "World",
    "check_apply_laws",
    "check_conversions",
    "explore",
    "is_watch",
    "is_write",
    "plans",
    "run",
    "scenario",
    "scenario_machine",
    "simulate",
]
