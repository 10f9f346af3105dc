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
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from random import Random
from typing import Any

from myrmidon.testing.harness.clock import VirtualTimeLoop
from myrmidon.testing.harness.turns import LeanHandle, LeanTimer

INCARNATION: ContextVar[int] = ContextVar("incarnation", default=0)
ENVIRONMENT = 0


class SimulationLoop(VirtualTimeLoop):
    """An event loop in virtual time whose callbacks belong to incarnations of processes."""

    def __init__(self) -> None:
        super().__init__()
        self.environment = Context()
        """The context of incarnation 0, for timers that the environment sets on behalf of others."""
        self.tasks: list[asyncio.Task[Any]] = []
        self._dead: set[int] = set()
        self._dropped: list[LeanHandle] = []  # kept, so that no code of a dead process runs
        self._parked: dict[int, tuple[list[LeanHandle], list[LeanTimer]]] = {}
        self._marked = False
        self._shuffled: Random | None = None
        self._reordered: Callable[[], None] = lambda: None

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

    def abandon(self) -> None:
        """Close the coroutines of all tasks; only for the end of a run, when nothing they do counts.

        A cancelled task would need turns of the loop, and a traceback, for each of its frames.  A
        coroutine that is closed runs its ``finally`` blocks at once; one that awaits there is left.
        """
        self._ready.clear()
        self._scheduled.clear()
        self._dropped, self._parked = [], {}
        tasks, self.tasks = self.tasks, []
        for task in tasks:
            if task.done():
                if not task.cancelled():
                    task.exception()  # has been seen
                continue
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001 - it is meant
            with suppress(Exception, BaseExceptionGroup, GeneratorExit, asyncio.CancelledError):
                task.get_coro().close()
        self._ready.clear()
        self._scheduled.clear()

    # ------------------------------------------------------------------------------ scheduling

    def call_soon(  # type: ignore[override]  # see LeanTurns
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> LeanHandle:
        """Run a callback in the next turn, unless its process is dead or paused."""
        if context is None:
            context = copy_context()
        handle = LeanHandle((0.0, 0, context, callback, args))
        if self._marked:
            owner = context.get(INCARNATION, ENVIRONMENT)
            parked = self._parked.get(owner)
            if owner in self._dead or parked is not None:
                (self._dropped if parked is None else parked[0]).append(handle)
                return handle
        self._ready.append(handle)
        if self._shuffled is not None and len(self._ready) > 1:
            self._put_in_order(handle, self._shuffled)
        return handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> LeanTimer:
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

    def _put_in_order(self, handle: LeanHandle, rng: Random) -> None:
        """Move the newest callback to a random place after those of its own task."""
        if _owner(handle) == ENVIRONMENT:
            return
        first = len(self._ready) - 1
        while first and _may_overtake(self._ready[first - 1], handle.context):
            first -= 1
        place = rng.randint(first, len(self._ready) - 1)
        if place < len(self._ready) - 1:
            self._ready.pop()
            self._ready.insert(place, handle)
            self._reordered()

    def _take_ready(self, incarnation: int) -> list[LeanHandle]:
        """Replace the callbacks that are ready by cancelled ones; return copies of them.

        They cannot be removed: the loop has counted how many callbacks it runs in this turn.
        """
        taken: list[LeanHandle] = []
        for handle in self._ready:
            if _owner(handle) == incarnation and not handle.cancelled():
                taken.append(handle.copy())
                handle.cancel()
        return taken

    def create_task(  # type: ignore[override]  # without the type variables of typeshed
        self, coro: Any, *, name: str | None = None, context: Context | None = None
    ) -> "asyncio.Task[Any]":
        """Start a task; the run closes it at its end."""
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=self, name=name, context=context)
        self.tasks.append(task)
        return task

    def _make_self_pipe(self) -> None:
        """Make no sockets: nothing outside this thread wakes the loop."""
        self._ssock = self._csock = None

    def _close_self_pipe(self) -> None:
        """Do nothing."""


def _may_overtake(handle: Any, context: Context) -> bool:
    """Whether a callback of a context may run before another one that was planned earlier."""
    return handle.context is not context and _owner(handle) != ENVIRONMENT


def _owner(planned: Any) -> int:
    """Return the incarnation to which a callback or timer belongs."""
    context: Context = planned.context
    return context.get(INCARNATION, ENVIRONMENT)
