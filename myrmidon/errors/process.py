"""Errors that end the process or a command."""

from myrmidon.errors.root import MyrmidonError


class LeadershipLostError(MyrmidonError):
    """This process is no longer the leader, or may not be; it must stop writing."""


class TaskEndedError(MyrmidonError):
    """A task that should run as long as the process has ended: a worker, a feed, a watch."""

    def __init__(self, task: str, why: str) -> None:
        self.task = task
        super().__init__(
            f"the task {task!r} has ended: {why}.\n"
            "  fix: restart the process; the log has the traceback, please report it"
        )


class UsageError(MyrmidonError):
    """A wrong argument, file or setting.  It is shown in one or two lines, without a traceback."""
