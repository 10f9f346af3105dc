"""Run one state: its result or its failure, how long it took, and whether it held up all others.

All passes of a process share one event loop.  A state that computes or waits without giving way, such
as one that calls an HTTP library that is not asynchronous, holds up every other object, the probes
and the lease.  Nothing goes wrong at once, so it has to be said.
"""

from collections.abc import Awaitable, Callable, Generator
from typing import Any

from myrmidon.api.clock import Clock
from myrmidon.fsm.results import Result, failure_of
from myrmidon.fsm.states import State
from myrmidon.runtime.logs import Logger

HELD_SECONDS_MAX = 1.0


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
            except BaseException as error:  # noqa: BLE001 - a cancellation, too, is for the inner one
                given, step = error, inner.throw


async def run_state(
    state: State,
    call: Callable[[], Any],
    clock: Clock,
    log: Logger,
    ran: Callable[[str, float], None],
) -> Result:
    """What a state says; what it raises is its failure.  ``ran`` is told which took how long."""
    started_at = clock.monotonic()
    held: Held | None = None
    try:
        if not state.is_async:
            result: Result = call()
        else:
            held = Held(call(), clock)
            result = await held
    except Exception as error:  # noqa: BLE001 - whatever a state raises is that state's failure
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
