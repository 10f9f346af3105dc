"""Fewer garbage collections while many short clusters come and go.

A harness makes some ten thousand objects within milliseconds, and nearly all of them are freed without the
garbage collector when it is closed.  Python nevertheless looks for cycles after every 700 new objects,
and from time to time among all objects of the process: the modules, the schemas of the built-in kinds,
the classes of the test suite.  That takes a third of the time of a run.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_NEW_OBJECTS = 100_000
"""After so many new objects Python looks for cycles: about 40 runs of a small controller leave as many."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look for cycles rarely, and only among objects that were made inside the ``with`` block.

    Use it around many runs of a harness.  Afterwards everything is as it was before.
    """
    before, was_frozen = gc.get_threshold(), gc.get_freeze_count() > 0
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not was_frozen:
            gc.unfreeze()
