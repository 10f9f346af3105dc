"""The test kit: run controllers against an embedded or a real API server.

harness/       a test's cluster: embedded with virtual time, or real
faults/        lost answers, refused connections, broken watches, crashes; external systems
properties/    property tests and Hypothesis strategies for controllers and kinds
simulation/    the simulator: a scenario under every fault at every moment
campaigns/     scenarios from samples, explorations with options, and their reports
pytest_plugin  the fixture ``harness``, and the collection of scenarios

Names of the simulator and of ``properties``, which needs hypothesis, are imported on first use: a test
without them does not pay for them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from myrmidon.apiserver.auth.users import User
from myrmidon.apiserver.server import ApiServer
from myrmidon.testing.faults.external_stand_in import ExternalStandIn
from myrmidon.testing.faults.transport import (
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
from myrmidon.testing.harness.clock import VirtualClock, VirtualTimeLoop, run
from myrmidon.testing.harness.cluster import Cluster
from myrmidon.testing.harness.failures import NotAtRestError, NotSettledError
from myrmidon.testing.harness.harness import Harness
from myrmidon.testing.harness.live import LiveCluster
from myrmidon.testing.harness.recording import Exchange, RecordingTransport
from myrmidon.testing.harness.turns import DeadlockError

if TYPE_CHECKING:
    from myrmidon.testing.properties.apply_laws import ApplyLawError, check_apply_laws
    from myrmidon.testing.properties.convergence import (
        NotConvergedError,
        check_converges,
        check_history,
        histories,
    )
    from myrmidon.testing.properties.conversions import ConversionLawError, check_conversions
    from myrmidon.testing.properties.strategies import edits, resources, scripts
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
    from myrmidon.testing.simulation.plan_strategies import fault_plans, scenario_machine
    from myrmidon.testing.simulation.scenarios import scenario

_ON_FIRST_USE = {
    "ApplyLawError": "properties.apply_laws",
    "NotConvergedError": "properties.convergence",
    "Plan": "simulation.plan",
    "PlannedFault": "simulation.plan",
    "Scenario": "simulation.scenarios",
    "SimulatedExternal": "simulation.externals",
    "Simulation": "simulation.simulation",
    "SimulationError": "simulation.result",
    "SimulationFailure": "simulation.result",
    "SimulationReport": "simulation.explorer",
    "SimulationResult": "simulation.result",
    "World": "simulation.world",
    "check_apply_laws": "properties.apply_laws",
    "ConversionLawError": "properties.conversions",
    "check_conversions": "properties.conversions",
    "check_converges": "properties.convergence",
    "check_history": "properties.convergence",
    "edits": "properties.strategies",
    "explore": "simulation.explorer",
    "fault_plans": "simulation.plan_strategies",
    "histories": "properties.convergence",
    "resources": "properties.strategies",
    "scenario": "simulation.scenarios",
    "scenario_machine": "simulation.plan_strategies",
    "scripts": "properties.strategies",
    "simulate": "simulation.simulating",
}


def __getattr__(name: str) -> Any:
    """Import a name of the simulator, or one that needs hypothesis, on first use."""
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ON_FIRST_USE[name]}"), name)


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
    "NotConvergedError",
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
    "check_converges",
    "check_conversions",
    "check_history",
    "edits",
    "explore",
    "fault_plans",
    "histories",
    "is_watch",
    "is_write",
    "resources",
    "run",
    "scenario",
    "scenario_machine",
    "scripts",
    "simulate",
]
