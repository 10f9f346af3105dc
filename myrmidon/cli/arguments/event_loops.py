"""Which event loop `myrmidon run` runs on.

uvloop (the extra `fast`) spends less CPU time on each request than asyncio's own event loop, and is
taken when it is installed.  Nothing else depends on it.
"""

import argparse
import asyncio
import importlib
from collections.abc import Callable
from typing import TypeAlias

from myrmidon.errors import UsageError

LoopFactory: TypeAlias = Callable[[], asyncio.AbstractEventLoop]


def add_event_loop_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the argument."""
    parser.add_argument(
        "--event-loop",
        choices=("auto", "asyncio", "uvloop"),
        default="auto",
        help="auto takes uvloop if it is installed",
    )


def loop_factory(choice: str) -> LoopFactory | None:
    """Return what makes the event loop of that name; None for asyncio's own."""
    if choice == "asyncio":
        return None
    try:
        factory: LoopFactory = importlib.import_module("uvloop").new_event_loop
    except ImportError as error:
        if choice == "auto":
            return None
        raise UsageError(
            f"there is no uvloop to run on: {error}.\n"
            "  fix: pip install 'myrmidon[fast]', or leave out --event-loop"
        ) from error
    return factory
