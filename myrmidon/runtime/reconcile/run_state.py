"""Run one state: its result or its failure, how long it took, and whether it held up the process.

All passes of a process share one event loop.  A state that computes or waits without giving way, such
as one that calls an HTTP library that is not asynchronous, holds up every other object, the probes
and the lease.  Nothing goes wrong at once, so it is logged.

What a state raises is that state's failure, also ``CancelledError`` and ``SystemExit``: a state that
awaits a task which other code cancelled gets the same exception as one that is itself cancelled.  The
difference is in the task of the pass: only the framework cancels that (``Task.cancelling``).
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any

from myrmidon.api.clock import Clock
from myrmidon.fsm.results import Result, failure_of
from myrmidon.fsm.states import State
from myrmidon.runtime.logs import Logger

HELD_SECONDS_MAX = 1.0


def is_failure(error: BaseException) -> bool:
    """Whether an exception is a failure of the code that raised it, and the task goes on.

    The rest is not: an order to this task to end, an interrupt from the keyboard, and exceptions that
    no handler for errors should see (those derive from BaseException for that reason, such as the
    ones that end a test).
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() == 0
    return isinstance(error, Exception | SystemExit)


class Held:
    """An awaitable, and the longest time that it kept the event loop to itself."""

    __slots__ = ("_awaitable", "_monotonic", "seconds")

    def __init__(self, awaitable: Awaitable[Any], clock: Clock) -> None:
        self._awaitable, self._monotonic = awaitable, clock.monotonic
        self.seconds = 0.0

    def __await__(self) -> Generator[Any, Any, Any]:
        """Go on as the inner one does, with an eye on the clock."""
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
            except BaseException as error:  # noqa: BLE001 - a cancellation, too, is thrown into it
                given, step = error, inner.throw


async def run_state(
    state: State,
    call: Callable[[], Any],
    clock: Clock,
    log: Logger,
    ran: Callable[[str, float], None],
) -> Result:
    """Return the result of a state, or the failure that its exception stands for.

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
                "state held up the process",
                state=state.name,
                seconds=round(held_seconds, 1),
                fix="await an asynchronous library, or asyncio.to_thread(...)",
            )
    return result
