"""kopf's 14-daemons: a background task that accompanies each object.

A state starts the task unless it runs, which is also what happens after a restart; the finalizer
state ends it.  The task reports through a Channel, which gives the object a pass.
"""

import asyncio
from collections import Counter

from myrmidon import Channel, Controller, Done, OutputSet, Result, state

from .resource import Example

PERIOD_SECONDS = 5.0


class Examples(Controller[Example]):
    """Runs a task for every Example, and reports how often it has pinged."""

    pinged = Channel("pings")
    channels = (pinged,)

    def __init__(self) -> None:
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.pings: Counter[str] = Counter()

    @state(initial=True)
    async def accompanied(self, example: Example, out: OutputSet) -> Result:
        """The task of the object runs."""
        key = example.ref.key
        if key not in self.tasks or self.tasks[key].done():
            self.tasks[key] = asyncio.get_running_loop().create_task(self.accompany(key))
        example.status.message = f"pinged {self.pings[key]} times"
        return Done()

    @state(finalizer=True)
    async def left_alone(self, example: Example, out: OutputSet) -> Result:
        """The task has ended."""
        task = self.tasks.pop(example.ref.key, None)
        if task is not None:
            task.cancel()
        return Done()

    async def accompany(self, key: str) -> None:
        """Ping until the object is deleted."""
        while True:
            await asyncio.sleep(PERIOD_SECONDS)  # noqa: TID251 - a task of the program's own
            self.pings[key] += 1
            self.pinged.send(key)
