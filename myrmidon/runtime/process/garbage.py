"""Exclude the caches from Python's garbage collection.

A full collection visits every container of the process without interruption.  With 50,000 cached
objects that takes up to 200 ms, during which the Lease is not renewed and no probe is answered.
``gc.freeze()`` moves all existing objects into a generation that is never visited.  They are still
freed when their last reference goes; only reference cycles among them are not.  Cached objects,
keys of the queue and series of the metrics contain no cycles.

Two phases of a start allocate enough to cause full collections, so the process is frozen several
times a second during each of them, and once at its end:

- while the caches fill;
- from the start of the workers until every object has had its first pass: a pass leaves an entry in
  the queue (the next resync), in the memory of the applicator and in the metrics.

What must hold: freezing ends.  Cycles that happen to exist at a freeze are never freed, so a
process that froze for ever would grow for ever.  Between the phases a standby may wait for days for
its election; it does not freeze then.  A phase ends after ``PHASE_SECONDS_MAX`` at the latest: a
cache may never get in sync, and a queue may never be idle.

This changes the garbage collector of the whole process, so it is optional
(``ManagerOptions.freeze_garbage``).  ``myrmidon run`` switches it on, because it owns the process.
"""

import asyncio
import gc
from collections.abc import Callable

from myrmidon.api.clock import Clock

FREEZE_SECONDS = 0.25
PHASE_SECONDS_MAX = 60.0


def keeps_freezing(*, over: bool, seconds: float) -> bool:
    """Whether to freeze again in a phase that began that many seconds ago."""
    return not over and seconds < PHASE_SECONDS_MAX


async def freeze_until(is_over: Callable[[], bool], clock: Clock) -> None:
    """Call ``gc.freeze()`` periodically until a phase of the start is over, and once after that."""
    began_at = clock.monotonic()
    while keeps_freezing(over=is_over(), seconds=clock.monotonic() - began_at):
        gc.freeze()
        await clock.sleep(FREEZE_SECONDS)
    gc.freeze()


async def freeze_at_start(
    synced: asyncio.Event, working: asyncio.Event, is_idle: Callable[[], bool], clock: Clock
) -> None:
    """Exclude the caches, and what the first passes leave, from garbage collections."""
    await freeze_until(synced.is_set, clock)
    await working.wait()
    await freeze_until(is_idle, clock)
