"""Keep the caches out of Python's garbage collections.

A full collection walks every container of the process in one go.  With 50,000 cached objects that
takes up to 200 ms, during which no lease is renewed and no probe is answered, and a first list of that
size causes several.  ``gc.freeze()`` moves all objects that exist into a generation that is never
walked.  Objects in it are still freed when their last reference goes; only reference cycles among
them are not.  Caches hold no cycles, so they are frozen while they fill, several times a second, and
once more when the workers start.

It changes the collector of the whole process, so a manager does it only if asked to
(``ManagerOptions.freeze_garbage``).  ``myrmidon run`` does, because the process is its own.
"""

import gc
from collections.abc import Callable

from myrmidon.api.clock import Clock

FREEZE_SECONDS = 0.25


async def freeze_until(is_working: Callable[[], bool], clock: Clock) -> None:
    """Freeze all objects again and again until the workers have started."""
    while not is_working():
        gc.freeze()
        await clock.sleep(FREEZE_SECONDS)
    gc.freeze()
