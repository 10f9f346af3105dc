"""SimulationLoop: virtual time, and processes that can die or stop in the middle of a step.

Every callback and every task of a simulated process carries the number of its incarnation in a
context variable; tasks inherit it from the task that started them.  Number 0 is the environment: the
scenario, the server and its actors.

- ``kill(n)`` drops every callback and timer of incarnation n, now and later.  None of its code runs
  again, neither ``finally`` nor ``except CancelledError``: as after SIGKILL.
- ``pause(n)`` sets them aside until ``resume(n)``: as with SIGSTOP, or a virtual machine that is
  moved.  Its clock goes on, so timers that were due in the meantime fire at once afterwards.

``context.get(...)`` is compared with None on purpose: an empty Context is falsy.
"""

import asyncio
import heapq
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from random import Random
from typing import Any

from myrmidon.testing.harness.clock import VirtualTimeLoop

INCARNATION: ContextVar[int] = ContextVar("incarnation", default=0)
ENVIRONMENT = 0


class SimulationLoop(VirtualTimeLoop):
    """An event loop in virtual time whose callbacks belong to incarnations of processes."""

    _ready: Any  # private to asyncio.BaseEventLoop

    def __init__(self) -> None:
        super().__init__()
        self.environment = Context()
        """The context of incarnation 0, for timers that the environment sets on behalf of others."""
        self.tasks: list[asyncio.Task[Any]] = []
        self._dead: set[int] = set()
        self._dropped: list[asyncio.Handle] = []  # kept to close the tasks at the end of the run
        self._parked: dict[int, tuple[list[asyncio.Handle], list[asyncio.TimerHandle]]] = {}
        self._marked = False
        self._shuffled: Random | None = None
        self._reordered: Callable[[], None] = lambda: None
        self.set_task_factory(self._new_task)

    # ------------------------------------------------------------------ the life of incarnations

    def kill(self, incarnation: int) -> None:
        """Drop everything that the incarnation has planned, and what it will plan."""
        self._dead.add(incarnation)
        self._marked = True
        self._dropped += self._parked.pop(incarnation, ([], []))[0]
        self._dropped += self._take_ready(incarnation)
        for timer in self._scheduled:
            if _owner(timer) == incarnation:
                timer.cancel()

    def pause(self, incarnation: int) -> None:
        """Set aside everything that the incarnation has planned, and what it will plan."""
        if incarnation in self._parked or incarnation in self._dead:
            return
        self._marked = True
        ready = self._take_ready(incarnation)
        timers = [one for one in self._scheduled if _owner(one) == incarnation]
        if timers:
            self._scheduled[:] = [one for one in self._scheduled if _owner(one) != incarnation]
            heapq.heapify(self._scheduled)
        self._parked[incarnation] = (ready, timers)

    def resume(self, incarnation: int) -> None:
        """Let a paused incarnation go on."""
        ready, timers = self._parked.pop(incarnation, ([], []))
        self._ready.extend(ready)
        for timer in timers:
            heapq.heappush(self._scheduled, timer)
        self._marked = bool(self._dead or self._parked)

    def is_paused(self, incarnation: int) -> bool:
        """Whether the incarnation is paused."""
        return incarnation in self._parked

    def revive(self) -> None:
        """Let dead and paused incarnations run again; only for the end of a run, to close them."""
        for incarnation in list(self._parked):
            self.resume(incarnation)
        self._dead.clear()
        self._marked = False
        self._ready.extend(self._dropped)
        self._dropped = []

    # ------------------------------------------------------------------------------ scheduling

    def call_soon(  # type: ignore[override]  # without the type variables of typeshed
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Run a callback in the next turn, unless its process is dead or paused."""
        if self._marked:
            owner = (context if context is not None else copy_context()).get(INCARNATION, 0)
            parked = self._parked.get(owner)
            if owner in self._dead or parked is not None:
                handle = asyncio.Handle(callback, args, self, context)
                (self._dropped if parked is None else parked[0]).append(handle)
                return handle
        handle = super().call_soon(callback, *args, context=context)
        if self._shuffled is not None and len(self._ready) > 1:
            self._put_in_order(handle, self._shuffled)
        return handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run a callback at a time, unless its process is dead; a paused process runs it later."""
        timer = super().call_at(when, callback, *args, context=context)
        if self._marked:
            owner = _owner(timer)
            if owner in self._dead:
                timer.cancel()
            elif owner in self._parked:
                self._scheduled.remove(timer)
                heapq.heapify(self._scheduled)
                self._parked[owner][1].append(timer)
        return timer

    def shuffle(self, rng: Random | None, reordered: Callable[[], None] = lambda: None) -> None:
        """Run the callbacks of processes in a random order from now on; None ends that.

        ``reordered`` is called when a callback is put before one that was planned earlier.
        """
        self._shuffled, self._reordered = rng, reordered

    def _put_in_order(self, handle: asyncio.Handle, rng: Random) -> None:
        """Move the newest callback to a random place after those of its own task."""
        if _owner(handle) == ENVIRONMENT:
            return
        context = handle._context  # type: ignore[attr-defined]  # noqa: SLF001
        first = len(self._ready) - 1
        while first and _may_overtake(self._ready[first - 1], context):
            first -= 1
        place = rng.randint(first, len(self._ready) - 1)
        if place < len(self._ready) - 1:
            self._ready.pop()
            self._ready.insert(place, handle)
            self._reordered()

    def _take_ready(self, incarnation: int) -> list[asyncio.Handle]:
        """Replace the callbacks that are ready by cancelled ones; return copies of them.

        They cannot be removed: the loop has counted how many callbacks it runs in this turn.
        """
        taken: list[asyncio.Handle] = []
        for handle in self._ready:
            if _owner(handle) == incarnation and not handle.cancelled():
                taken.append(_copy(handle))
                handle.cancel()
        return taken

    def _new_task(self, _loop: Any, coro: Any, **options: Any) -> "asyncio.Task[Any]":
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=self, **options)
        self.tasks.append(task)
        return task


def _may_overtake(handle: Any, context: Context) -> bool:
    """Whether a callback of a context may run before another one that was planned earlier."""
    return handle._context is not context and _owner(handle) != ENVIRONMENT  # noqa: SLF001


def _owner(handle: asyncio.Handle) -> int:
    """Return the incarnation to which a callback belongs."""
    context: Context | None = getattr(handle, "_context", None)
    return ENVIRONMENT if context is None else context.get(INCARNATION, ENVIRONMENT)


def _copy(handle: Any) -> asyncio.Handle:
    callback, args, loop = handle._callback, handle._args, handle._loop  # noqa: SLF001 - a copy
    return asyncio.Handle(callback, args, loop, handle._context)  # noqa: SLF001
