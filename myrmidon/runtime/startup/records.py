"""Open the records that the options of a process ask for: the change log, and the recorded passes."""

from contextlib import AsyncExitStack

from myrmidon.runtime.logs import Logger
from myrmidon.runtime.observability.change_log import ChangeLog
from myrmidon.runtime.observability.recorder import Recorder
from myrmidon.runtime.options import ManagerOptions


def open_change_log(
    options: ManagerOptions, log: Logger, stack: AsyncExitStack
) -> ChangeLog | None:
    """Return the change log, to be closed with the stack; None if no option asks for one."""
    if not options.change_log and options.on_write is None:
        return None
    changes = ChangeLog(options.change_log, options.on_write, log)
    stack.callback(changes.close)
    return changes


def recorder_for(options: ManagerOptions, given: Recorder | None) -> Recorder | None:
    """Return the given recorder or a new one; None without ``ManagerOptions.trace``."""
    if not options.trace:
        return None
    return given or Recorder(options.trace_bytes, options.trace_passes, options.trace_period)
