"""Tasks that must not end: an unexpected end is an error, never silence.

``asyncio.TaskGroup`` notices a child that raises.  It does not notice a child that returns, or that
ends with ``CancelledError`` without being cancelled itself, which happens if it awaits a future
that other code has cancelled.  A watch or a worker that ended this way would be missing in a
process that looks healthy.  So every task that has to run as long as its owner is started through
``lasting``, which turns both cases into a ``TaskEndedError``; that ends the group.
"""

import asyncio
from collections.abc import Awaitable, Callable

from myrmidon.errors import TaskEndedError


async def lasting(
    name: str, work: Callable[[], Awaitable[None]], *, may_end: Callable[[], bool] = lambda: False
) -> None:
    """Run ``work``; raise TaskEndedError if it ends without being cancelled or allowed to end.

    It is allowed to end if ``may_end()`` is true at that time.
    """
    try:
        await work()
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise TaskEndedError(name, "it awaited a task or future that was cancelled") from error
    if not may_end():
        raise TaskEndedError(name, "it returned")
