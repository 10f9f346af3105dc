"""The turns of an event loop in virtual time, without what only real time and sockets need.

asyncio's loop asks the operating system for events in every turn, makes an object in Python for each
callback and compares timers in a method.  In a test nothing comes from the operating system, and a run
of a simulator has hundreds of callbacks.  So here a callback and a timer are lists, which are made and
compared in C, and a turn is a plain loop over them:

1. Timers that were cancelled are dropped from the front of the heap.
2. If no callback is ready, time jumps to the next timer.  Without a timer nothing can go on: that
   is a ``DeadlockError``.
3. Timers that are due become ready, behind the callbacks that are; timers of the same time in the order
   in which they were set.
4. The callbacks that are ready now run; those that they add wait for the next turn.

A loop that has a socket (a webhook that is asked over HTTPS), or is in debug mode, makes asyncio's own turns;
``LeanHandle`` and ``LeanTimer`` have what these need of a handle.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from itertools import count
from typing import Any

_SWEEP_MIN = 1000  # timers; below, cancelled ones are left until they are due


class DeadlockError(RuntimeError):
    """All tasks wait, and no timer is set that would wake one."""

    def __init__(self) -> None:
        super().__init__("all tasks wait, and no timer is set that would wake one")


class _Planned(list[Any]):
    """A callback that is planned: when, a number, its context, the function (None: cancelled), arguments."""

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]  # lists have none
    _source_traceback = None  # asyncio looks at it

    def cancel(self) -> None:
        """Do not call it, and forget what it would be called with."""
        self[3], self[4] = None, ()

    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self[3] is None

    @property
    def context(self) -> Context:
        """The context in which it runs."""
        found: Context = self[2]
        return found

    _context = context

    def copy(self) -> "_Planned":
        """Return the same callback as another object, which can be cancelled by itself."""
        return type(self)(self)

    @property
    def _cancelled(self) -> bool:
        return self[3] is None

    def _run(self) -> None:
        _when, _number, context, callback, args = self
        try:
            context.run(callback, *args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - as asyncio.Handle does
            said = {"message": f"Exception in callback {callback!r}", "exception": error}
            asyncio.get_running_loop().call_exception_handler(said)


class LeanHandle(_Planned):
    """A callback of the next turn."""

    __slots__ = ()


class LeanTimer(_Planned):
    """A callback of a later time.  Timers are ordered by their time, then by their number."""

    __slots__ = ()

    def when(self) -> float:
        """Return the time at which it is due."""
        due_at: float = self[0]
        return due_at

    @property
    def _when(self) -> float:
        due_at: float = self[0]
        return due_at

    @property
    def _scheduled(self) -> bool:
        return False  # asyncio then does not count cancelled timers

    @_scheduled.setter
    def _scheduled(self, value: bool) -> None:
        pass


class LeanTurns(asyncio.SelectorEventLoop):
    """An event loop that makes its turns in virtual time."""

    virtual_seconds = 0.0
    sockets = 0
    """How many sockets are registered, beside the one with which asyncio wakes itself."""

    _ready: deque[Any]  # these are private to asyncio.BaseEventLoop
    _scheduled: list[Any]
    _clock_resolution: float
    _stopping: bool
    _debug: bool

    def __init__(self, selector: Any) -> None:
        self._numbers, self._sweep_at = count(), _SWEEP_MIN
        super().__init__(selector)

    def call_soon(  # type: ignore[override]  # a list that has the methods of a Handle
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> LeanHandle:
        """Run a callback in the next turn."""
        handle = LeanHandle(
            (0.0, 0, copy_context() if context is None else context, callback, args)
        )
        self._ready.append(handle)
        return handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> LeanTimer:
        """Run a callback at a time."""
        own = copy_context() if context is None else context
        timer = LeanTimer((when, next(self._numbers), own, callback, args))
        timers = self._scheduled
        heapq.heappush(timers, timer)
        if len(timers) > self._sweep_at:  # most timers are cancelled long before they are due
            timers[:] = [one for one in timers if one[3] is not None]
            heapq.heapify(timers)
            self._sweep_at = max(_SWEEP_MIN, 2 * len(timers))
        return timer

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> LeanHandle:
        """Run a callback in the next turn."""
        handle = self.call_soon(callback, *args, context=context)
        self._write_to_self()  # type: ignore[attr-defined]  # private to asyncio.BaseEventLoop
        return handle

    def _run_once(self) -> None:
        if self.sockets > 0 or self._debug:
            super()._run_once()  # type: ignore[misc]  # private to asyncio.BaseEventLoop
            return
        self._move_time()
        ready = self._ready
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not isinstance(handle, list):
                handle._run()  # noqa: SLF001 - a Handle of asyncio, of a socket or a signal
                continue
            _when, _number, context, callback, args = handle
            if callback is not None:
                try:
                    context.run(callback, *args)
                except (SystemExit, KeyboardInterrupt):
                    raise
                except BaseException as error:  # noqa: BLE001 - as asyncio.Handle does
                    said = {"message": f"Exception in callback {callback!r}", "exception": error}
                    self.call_exception_handler(said)

    def _move_time(self) -> None:
        """Jump to the next timer if no callback is ready, and make the timers ready that are due."""
        ready, timers = self._ready, self._scheduled
        while timers and timers[0][3] is None:
            heapq.heappop(timers)
        waits = not ready and not self._stopping
        if timers:
            if waits and timers[0][0] > self.virtual_seconds:
                self.virtual_seconds = timers[0][0]
            ends_at = self.virtual_seconds + self._clock_resolution
            while timers and timers[0][0] < ends_at:
                timer = heapq.heappop(timers)
                # A timer fires up to one clock resolution early.  Then time moves to it: otherwise code
                # that finds itself too early and sets it again would do so for ever.
                self.virtual_seconds = max(self.virtual_seconds, timer[0])
                ready.append(timer)
        elif waits:
            raise DeadlockError


class Alarm:
    """One timer of a task that is set again and again: nothing is done if its time stays the same."""

    def __init__(self, loop: LeanTurns, ring: Callable[[], None]) -> None:
        self._loop, self._ring = loop, ring
        self._timer: LeanTimer | None = None

    def set(self, at: float) -> None:
        """Ring at a time, and not at the time that was set before."""
        timer = self._timer
        if timer is not None and timer.when() == at > self._loop.virtual_seconds:
            return
        self.stop()
        self._timer = self._loop.call_at(at, self._ring)

    def stop(self) -> None:
        """Do not ring."""
        if self._timer is not None:
            self._timer.cancel()
