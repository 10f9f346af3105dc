"""The end of a cluster: by ``close``, or after a warning when a test has forgotten it.

A cluster that is dropped without ``close`` leaves an event loop with tasks that wait for ever.  When
the garbage collector finds them, asyncio logs an error for each task, and exceptions of their
``finally`` blocks follow, in the middle of another test.  Instead:

1. ``OpenCluster`` holds all that has to be ended, and does not refer to the cluster.
2. ``weakref.finalize`` calls ``_abandon`` when the cluster is collected, or when the program ends.
   ``OpenCluster`` is alive until then, so the tasks are not collected before.
3. One ``ResourceWarning`` names the line that made the cluster, and the fix; then it is ended in
   order.  The collector may run while another loop is running, and an event loop cannot run inside
   another: then the cluster is ended when the next one is made or closed, or at the end.

A cluster whose constructor raised is ended without a warning: its user has nothing to close.
"""

import asyncio
import inspect
import warnings
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

_abandoned: "list[OpenCluster]" = []
"""Clusters that were not closed, and whose end has to wait because an event loop is running."""


@dataclass(slots=True)
class OpenCluster:
    """What has to be ended when a cluster is closed."""

    loop: asyncio.AbstractEventLoop
    manager: "asyncio.Task[None] | None" = None
    ends: list[Callable[[], object]] = field(default_factory=list)
    """Called in this order after the manager has ended, before the loop is closed."""
    name: str = ""
    """The class of the cluster; empty until its constructor has finished."""
    made_at: tuple[str, int] = ("", 0)
    """The file and the line that made it."""

    def stop_manager(self) -> None:
        """Cancel the manager and wait until it has ended."""
        if self.manager is not None:
            self.manager.cancel()
            self.loop.run_until_complete(_ended(self.manager))

    def close(self) -> None:
        """End everything, and close the event loop."""
        self.stop_manager()
        for end in self.ends:
            end()
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()


def guard(cluster: object, left: OpenCluster) -> "weakref.finalize[..., object]":
    """Return the finalizer that ends a cluster which nothing refers to; ``close`` detaches it."""
    close_abandoned()
    left.made_at = _maker()
    return weakref.finalize(cluster, _abandon, left)


def close_abandoned() -> None:
    """End the clusters that were not closed, unless an event loop is running in this thread."""
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        return
    while _abandoned:
        _abandoned.pop().close()


def _abandon(left: OpenCluster) -> None:
    _abandoned.append(left)
    try:
        if left.name:
            warnings.warn_explicit(
                f"this {left.name} was not closed.\n"
                f"  fix: write `with {left.name}(...) as cluster:`, call cluster.close(), or use "
                "the pytest fixture `harness`",
                ResourceWarning,
                *left.made_at,
            )
    finally:
        close_abandoned()


def _maker() -> tuple[str, int]:
    """Return the file and the line outside this package that make the cluster."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("myrmidon.testing"):
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


async def _ended(task: "asyncio.Task[None]") -> None:
    """Wait for a cancelled task and ignore its result or exception."""
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()
