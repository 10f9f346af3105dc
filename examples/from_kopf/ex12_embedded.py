"""kopf's 12-embedded: controllers inside another program.

They need no thread: a Manager is a coroutine.  ``stop`` lets passes under way finish.
"""

import asyncio
from collections.abc import Awaitable, Callable

from myrmidon import Controller, Done, Manager, OutputSet, Result, state

from .resource import Example


class Examples(Controller[Example]):
    """Reports that the program runs."""

    @state(initial=True)
    def seen(self, example: Example, out: OutputSet) -> Result:
        """The program has seen the object."""
        example.status.message = "seen by the program"
        return Done()


async def main(manager: Manager, application: Callable[[], Awaitable[None]]) -> None:
    """Run the application and, while it runs, the controllers."""
    manager.add(Examples())
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        await application()
        manager.stop()
