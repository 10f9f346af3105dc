"""The test kit: virtual time, an embedded server, a controller step by step."""

from myrmidon.testing.clock import DeadlockError, VirtualClock, VirtualTimeLoop, run
from myrmidon.testing.harness import Harness, NotSettledError
from myrmidon.testing.recording import Exchange, RecordingTransport

__all__ = [
    "DeadlockError",
    "Exchange",
    "Harness",
    "NotSettledError",
    "RecordingTransport",
    "VirtualClock",
    "VirtualTimeLoop",
    "run",
]
