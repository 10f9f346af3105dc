"""Pacer: ends a turn of the event loop after about ten milliseconds of our own work.

asyncio runs a task until it awaits a result that is not there yet.  A loop over 50,000 cached
objects that never has to wait is therefore a single turn, no matter how many ``await`` it has: no
lease is renewed, no probe is answered and no signal is handled until it ends.  So each loop over
many objects calls ``await pacer.give_way()`` once per object.  That costs about 0.2 microseconds
and returns at once until the turn has used up its budget; then it lets all other tasks run first.

What must hold:

- The budget belongs to the turn, not to the task.  Four workers that are ready in the same turn
  share its ten milliseconds; each of them may finish the object that it has begun.  Hence there is
  one Pacer per event loop, which ``pacer()`` returns.
- The turn is also limited to a number of steps.  In virtual time the clock stands still while code
  runs, and without the second limit a busy task would keep the loop for ever.
- The first call after an idle time may give way although the turn has just begun: asyncio does not
  say when a turn began, so a Pacer knows only the turns that it ended itself.  That costs one empty
  turn.

What it does not handle: one long step.  A function that decodes a list of 50,000 objects in a
single call has to be split by its caller.
"""

import asyncio
from weakref import WeakKeyDictionary

TURN_SECONDS_MAX = 0.010
TURN_STEPS_MAX = 250

_PACERS: WeakKeyDictionary[asyncio.AbstractEventLoop, "Pacer"] = WeakKeyDictionary()


class Pacer:
    """The budget of one event loop; get it from ``pacer()``.  Any number of tasks may use it."""

    __slots__ = ("_began_at", "_ending", "_steps")

    def __init__(self) -> None:
        self._began_at = float("-inf")
        self._steps = 0
        self._ending = False

    async def give_way(self, steps: int = 1) -> None:
        """Let other tasks run if this turn of the event loop has used up its budget.

        ``steps``: how many objects were handled since the last call.
        """
        self._steps += steps
        loop = asyncio.get_running_loop()
        if self._steps <= TURN_STEPS_MAX and loop.time() - self._began_at < TURN_SECONDS_MAX:
            return
        await self.end_turn()

    async def end_turn(self) -> None:
        """Let all other tasks run first, even if the turn has budget left.

        For a task that produces work for another one.  With ``give_way`` alone, the producer would
        use up the budget at the beginning of each turn, and its products would pile up.
        """
        loop = asyncio.get_running_loop()
        if not self._ending:
            self._ending = True
            loop.call_soon(self._begin_turn)  # it runs before the tasks that give way from now on
        await asyncio.sleep(0)  # noqa: TID251  gives way, waits for nothing

    def _begin_turn(self) -> None:
        self._began_at = asyncio.get_running_loop().time()
        self._steps = 0
        self._ending = False


def pacer() -> Pacer:
    """Return the Pacer of the running event loop; all callers on that loop get the same."""
    loop = asyncio.get_running_loop()
    found = _PACERS.get(loop)
    if found is None:
        found = _PACERS[loop] = Pacer()
    return found
