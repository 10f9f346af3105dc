"""Exclude the caches from Python's garbage collection.

A full collection visits every container of the process without interruption.  With 50,000 cached
objects that takes up to 200 ms, during which the Lease is not renewed and no probe is answered, and
a first list of that size causes several collections.  ``gc.freeze()`` moves all existing objects
into a generation that is never visited.  They are still freed when their last reference goes; only
reference cycles among them are not.  Cached objects contain no cycles.  So the process is frozen
several times a second while the caches fill, and once more when the workers start.

This changes the garbage collector of the whole process, so it is optional
(``ManagerOptions.freeze_garbage``).  ``myrmidon run`` switches it on, because it owns the process.
"""

import gc
from collections.abc import Callable

from myrmidon.api.clock import Clock

FREEZE_SECONDS = 0.25


async def freeze_until(is_working: Callable[[], bool], clock: Clock) -> None:
    """Call ``gc.freeze()`` periodically until the workers have started, and once after that."""
    while not is_working():
        gc.freeze()
        await clock.sleep(FREEZE_SECONDS)
    gc.freeze()
