"""The test kit: run controllers against an embedded or a real API server.

harness/        a test's cluster: embedded with virtual time, or real
faults          lost answers, refused connections, broken watches, crashes
external        a stand-in for an external system, with the same faults
generated_role  controllers with exactly the rights of their generated role
readiness       when a test counts an object as ready
strategies      Hypothesis strategies for resources, edits and faults
convergence     a property test of controllers: the end depends on the specs alone
end_states      the objects of a controller without what differs between any two runs
pytest_plugin   the fixture ``harness``

``strategies`` and ``convergence`` need hypothesis, so they are not imported here.
"""

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

__all__ = [
    "ApiServer",
    "Break",
    "Cluster",
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
    "RecordingTransport",
    "Refuse",
    "Script",
    "Stall",
    "Status",
    "Truncate",
    "User",
    "VirtualClock",
    "VirtualTimeLoop",
    "is_watch",
    "is_write",
    "run",
]
