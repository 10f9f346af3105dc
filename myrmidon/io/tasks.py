"""Tasks that must not end: an unexpected end is an error, never silence.

``asyncio.TaskGroup`` notices a child that raises.  It does not notice a child that returns, or that ends
with ``CancelledError`` although no one cancelled it: awaiting a future that other code has cancelled is
enough for that.  A watch or a worker that ended this way would be missing for ever, in a process that
looks healthy.  Every task that has to run as long as its owner is therefore started through
``lasting``, which turns both into a ``TaskEndedError``, and with that the group ends.
"""

import asyncio
from collections.abc import Awaitable, Callable

from myrmidon.errors import TaskEndedError


async def lasting(
    name: str, work: Callable[[], Awaitable[None]], *, may_end: Callable[[], bool] = lambda: False
) -> None:
    """Do the work; raise TaskEndedError if it ends although neither is it cancelled nor may it end."""
    try:
        await work()
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise TaskEndedError(name, "it awaited a task or future that was cancelled") from error
    if not may_end():
        raise TaskEndedError(name, "it returned")
