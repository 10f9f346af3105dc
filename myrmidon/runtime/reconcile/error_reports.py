"""Unexpected exceptions of states: reported to the user's function, and told apart from repetitions.

A state that raises is retried, and raises again.  The log should have the traceback once, at ERROR,
where people and error trackers look, and not with every attempt.  So the last exceptions of each object
are remembered, by state, type and line.  The memory of an object ends with its first pass that does not
fail, or when the object is gone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.runtime.logs import Logger

_Kind: TypeAlias = tuple[str, str, str, int]


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """An unexpected exception of a state."""

    controller: str
    object: ObjectRef
    state: str
    error: BaseException
    repeated: int
    """How often the object has failed with this exception in this state before; 0 the first time."""


OnError: TypeAlias = Callable[[ErrorReport], None]


class ErrorReports:
    """Counts the exceptions of each object of a controller, and calls the user's function."""

    def __init__(self, controller: str, log: Logger, on_error: OnError | None = None) -> None:
        self._controller, self._log, self._on_error = controller, log, on_error
        self._seen: dict[ObjectRef, dict[_Kind, int]] = {}

    def report(self, ref: ObjectRef, state: str, error: BaseException) -> int:
        """Call the function; return how often the object has failed like this before."""
        seen = self._seen.setdefault(ref, {})
        kind = _kind(state, error)
        repeated = seen.get(kind, 0)
        seen[kind] = repeated + 1
        if self._on_error is not None:
            try:
                self._on_error(ErrorReport(self._controller, ref, state, error, repeated))
            except Exception as raised:  # noqa: BLE001 - the user's function may raise anything
                self._log.crash("on_error failed", raised, object=ref.key)
        return repeated

    def forget(self, ref: ObjectRef) -> None:
        """Forget the exceptions of an object that does not fail any more, or is gone."""
        if self._seen:
            self._seen.pop(ref, None)


def _kind(state: str, error: BaseException) -> _Kind:
    """Return the state, and the type, file and line of an exception."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    file, line = (last.tb_frame.f_code.co_filename, last.tb_lineno) if last is not None else ("", 0)
    return state, type(error).__name__, file, line
