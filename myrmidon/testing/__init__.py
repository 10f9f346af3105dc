"""The test kit: virtual time, an embedded server, a controller step by step."""

from myrmidon.testing.clock import DeadlockError, VirtualClock, VirtualTimeLoop, run
from myrmidon.testing.cluster import Cluster
from myrmidon.testing.failures import NotAtRestError, NotSettledError
from myrmidon.testing.harness import Harness
from myrmidon.testing.live import LiveCluster
from myrmidon.testing.recording import Exchange, RecordingTransport

__all__ = [
    "Cluster",
    "DeadlockError",
    "Exchange",
    "Harness",
    "LiveCluster",
    "NotAtRestError",
    "NotSettledError",
    "RecordingTransport",
    "VirtualClock",
    "VirtualTimeLoop",
    "run",
]
