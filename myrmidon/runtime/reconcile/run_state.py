"""Run one state: return its result or its failure, and warn if it blocked the event loop.

All passes of a process share one event loop.  A state that computes for long, or calls a
synchronous HTTP library, blocks every other object, the probes and the renewal of the Lease.  That
causes no error by itself, so the longest time without an ``await`` is measured (``Held``) and
logged.

An exception of a state is that state's failure, including ``CancelledError`` and ``SystemExit``.  A
state that awaits a task which other code cancelled gets the same ``CancelledError`` as a state that
the framework cancels; ``Task.cancelling`` of the pass's own task tells the two apart.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeAlias

from myrmidon.api.clock import Clock
from myrmidon.fsm.machine.results import Result, failure_of
from myrmidon.fsm.machine.states import State
from myrmidon.runtime.logs import Logger

HELD_SECONDS_MAX = 1.0

RunState: TypeAlias = Callable[
    [State, Callable[[], Any], Clock, Logger, Callable[[str, float], None]], Awaitable[Result]
]
"""``run_state``, or a function around it."""


def is_failure(error: BaseException) -> bool:
    """Whether an exception is a failure of the code that raised it, so that the task goes on.

    False for a cancellation of this task, for KeyboardInterrupt, and for other exceptions that
    derive directly from BaseException, so that error handlers do not catch them.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() == 0
    return isinstance(error, Exception | SystemExit)


class Held:
    """Wraps an awaitable and measures the longest time that it blocked the event loop."""

    __slots__ = ("_awaitable", "_monotonic", "seconds")

    def __init__(self, awaitable: Awaitable[Any], clock: Clock) -> None:
        self._awaitable, self._monotonic = awaitable, clock.monotonic
        self.seconds = 0.0

    def __await__(self) -> Generator[Any, Any, Any]:
        """Forward to the inner awaitable and time each of its steps."""
        inner = self._awaitable.__await__()
        step: Callable[[Any], Any] = inner.send
        given: Any = None
        while True:
            began_at = self._monotonic()
            try:
                awaited = step(given)
            except StopIteration as end:
                return end.value
            finally:
                self.seconds = max(self.seconds, self._monotonic() - began_at)
            try:
                given, step = (yield awaited), inner.send
            except BaseException as error:  # noqa: BLE001 - cancellations are forwarded, too
                given, step = error, inner.throw


async def run_state(
    state: State,
    call: Callable[[], Any],
    clock: Clock,
    log: Logger,
    ran: Callable[[str, float], None],
) -> Result:
    """Return the result of a state, or a ``Failed`` for the exception that it raised.

    ``ran`` is called with the name of the state and the seconds that it took.
    """
    started_at = clock.monotonic()
    held: Held | None = None
    try:
        if not state.is_async:
            result: Result = call()
        else:
            held = Held(call(), clock)
            result = await held
    except BaseException as error:
        if not is_failure(error):
            raise
        return failure_of(error)
    finally:
        seconds = clock.monotonic() - started_at
        ran(state.name, seconds)
        held_seconds = seconds if held is None else held.seconds
        if held_seconds > HELD_SECONDS_MAX:
            log.warning(
                "state blocked the event loop",
                state=state.name,
                seconds=round(held_seconds, 1),
                fix="await an asynchronous library, or asyncio.to_thread(...)",
            )
    return result
