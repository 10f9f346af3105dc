"""The test kit: virtual time, an embedded server, a controller step by step."""

from myrmidon.testing.clock import DeadlockError, VirtualClock, VirtualTimeLoop, run
from myrmidon.testing.faults import (
    Break,
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
from myrmidon.testing.harness import Harness, NotSettledError
from myrmidon.testing.recording import Exchange, RecordingTransport

__all__ = [
    "Break",
    "Cut",
    "DeadlockError",
    "Delay",
    "Exchange",
    "Expire",
    "Fault",
    "Faults",
    "FaultyTransport",
    "Hang",
    "Harness",
    "Lose",
    "NotSettledError",
    "RecordingTransport",
    "Refuse",
    "Script",
    "Stall",
    "Status",
    "Truncate",
    "VirtualClock",
    "VirtualTimeLoop",
    "is_watch",
    "is_write",
    "run",
]
