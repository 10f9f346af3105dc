"""Supervisor: starts the tasks of a manager and notices when one ends unexpectedly.

Every task runs through ``io.tasks.lasting``, which turns an unexpected end (by an exception, a
return, or a stray ``CancelledError``) into an error.  The error ends the manager, and ``readyz``
reports the part that has failed until the process exits.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager

from myrmidon.errors import MyrmidonError, TaskEndedError
from myrmidon.io.tasks import lasting
from myrmidon.runtime.logs import Logger

Work = Callable[[], Awaitable[None]]
Tasks = list[asyncio.Task[None]]


class Supervisor:
    """Starts tasks in a task group and keeps the error of each part that has failed."""

    def __init__(self, group: asyncio.TaskGroup, log: Logger) -> None:
        self._group, self._log = group, log
        self._parts: dict[str, Tasks] = {}
        self._faults: dict[str, str] = {}

    def start(
        self, part: str, work: Work, *, count: int = 1, may_end: Callable[[], bool] = lambda: False
    ) -> Tasks:
        """Start ``count`` tasks that run ``work``; they may end only if ``may_end()`` is True."""
        names = [part if count == 1 else f"{part}, number {number + 1}" for number in range(count)]
        tasks = [
            self._group.create_task(self._watched(part, name, work, may_end), name=name)
            for name in names
        ]
        self._parts.setdefault(part, []).extend(tasks)
        return tasks

    def forget(self, tasks: Tasks) -> None:
        """Drop the parts of these tasks, which have ended on purpose, from the checks."""
        for part, known in list(self._parts.items()):
            if any(task in tasks for task in known):
                del self._parts[part]

    def checks(self) -> Mapping[str, str | None]:
        """Return a readyz check for each part: its error, None while it runs."""
        return {f"task {part}": self._faults.get(part) for part in self._parts}

    async def _watched(self, part: str, name: str, work: Work, may_end: Callable[[], bool]) -> None:
        try:
            await lasting(name, work, may_end=may_end)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            cause = first_of(error)
            self._faults[part] = f"has ended: {cause}"
            if isinstance(cause, TaskEndedError):
                self._log.crash("task ended", cause, task=cause.task)
            raise


def first_of(error: BaseException) -> BaseException:
    """Return the first error of an exception group, however nested; other errors unchanged."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


@contextmanager
def ungrouped() -> Iterator[None]:
    """Raise the first of our own errors alone, without the ``ExceptionGroup`` around it."""
    try:
        yield
    except BaseExceptionGroup as group:
        expected, surprises = group.split(MyrmidonError)
        if surprises is not None or expected is None:
            raise
        raise first_of(expected) from None
