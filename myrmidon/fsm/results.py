"""What a state can say when it returns: ``Done``, ``Wait`` or ``Failed``.

Three things can happen, so there are three values.  A ``Wait`` is no error: nothing is logged as
one, and nobody is paged.
"""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from myrmidon.api.conditions import ConditionValue
from myrmidon.errors import ProgrammingError, UnreadableObjectError
from myrmidon.fsm.raised import UnexpectedError

_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")


@dataclass(frozen=True, slots=True)
class Wait:
    """The state does not hold yet, and that is expected.

    Look again after ``after``; None means a growing delay.  The state's outputs are dropped,
    unless ``keep_outputs``: then they are applied all the same.
    """

    reason: str
    message: str = ""
    after: timedelta | None = None
    keep_outputs: bool = False

    def __post_init__(self) -> None:
        check_reason("Wait", self.reason)
        if self.after is not None and not isinstance(self.after, timedelta):
            raise ProgrammingError(
                f"Wait({self.reason!r}) has after={self.after!r}, which is no time span.\n"
                f"  fix: write after=timedelta(seconds={self.after!r})"
            )
        if self.after is not None and self.after < timedelta(0):
            raise ProgrammingError(
                f"Wait({self.reason!r}) has a negative `after`: {self.after}.\n"
                "  fix: pass a positive timedelta, or None for a growing delay"
            )


@dataclass(frozen=True, slots=True)
class Done:
    """The state holds: its outputs are applied and its condition is True.

    - ``goto`` picks the next state where several are declared.
    - ``condition`` goes on but says this instead of True.
    - ``recheck`` goes on, and looks again when the walk is over; Ready stays False until then.
    - ``pause`` keeps the outputs, stops here and looks again.
    """

    goto: str | None = None
    condition: ConditionValue | None = None
    recheck: Wait | None = None
    pause: Wait | None = None

    def __post_init__(self) -> None:
        if self.condition is None and self.recheck is None and self.pause is None:
            return
        chosen = [name for name in ("condition", "recheck", "pause") if getattr(self, name)]
        if len(chosen) > 1:
            raise ProgrammingError(
                f"Done(...) cannot have both {chosen[0]} and {chosen[1]}: each says what the "
                f"condition is.\n  fix: drop one of them"
            )
        if self.goto is not None and self.pause is not None:
            raise ProgrammingError(
                "Done(...) cannot have both goto and pause: a walk that stops goes nowhere.\n"
                "  fix: drop goto; the next pass decides again"
            )
        if self.condition is not None:
            check_reason("ConditionValue", self.condition.reason)


@dataclass(frozen=True, slots=True)
class Failed:
    """The state should hold and does not.

    Its outputs are dropped, and it is tried again after a growing delay; with ``retry=False`` only
    when the object changes.  Raising an exception is the same as returning this with the reason
    ``InternalError``.
    """

    reason: str
    error: Exception | str
    retry: bool = True

    def __post_init__(self) -> None:
        check_reason("Failed", self.reason)

    @property
    def message(self) -> str:
        """What went wrong, in one line or a few."""
        return str(self.error) or type(self.error).__name__


Result: TypeAlias = Done | Wait | Failed


def check_reason(where: str, reason: str) -> None:
    """Raise unless the API server would accept the reason: it refuses a whole status for one."""
    if not _REASON.fullmatch(reason) or len(reason) > 1024:
        raise ProgrammingError(
            f"{where} has the reason {reason!r}, which the API server refuses.\n"
            "  fix: use one word in CamelCase, such as 'RollingOut', and put the rest into the message"
        )


def failure_of(error: Exception) -> Failed:
    """The failure that a raised exception stands for.

    What the controller did wrong by its own declaration is not retried: the next attempt would do
    the same.  Neither is the read of an object that cannot be read: its next change wakes the pass.
    """
    if isinstance(error, ProgrammingError | UnreadableObjectError):
        return Failed(error.reason, error, retry=False)
    return Failed("InternalError", UnexpectedError(error))
