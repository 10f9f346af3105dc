"""The results of a state: ``Done``, ``Wait`` or ``Failed``.

A ``Wait`` is not an error and is not logged as one.

Reason and message become a condition.  The API server refuses a whole status for one reason that it
does not accept, so reasons are checked when the result is made.  A message can be any text: it is
made encodable and is shortened where the condition is written (``api/texts.py``).
"""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias, get_args

from myrmidon.api.conditions import ConditionStatus, ConditionValue
from myrmidon.api.texts import CONDITION_REASON_MAX, condition_message, text_of
from myrmidon.errors import ProgrammingError, UnreadableObjectError
from myrmidon.fsm.raised import UnexpectedError

_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_STATUSES = get_args(ConditionStatus)


@dataclass(frozen=True, slots=True)
class Wait:
    """The state does not hold yet, and that is expected.

    Look again after ``after``, but not before 0.1 seconds have passed; None means a growing delay.
    The state's outputs are dropped, unless ``keep_outputs``: then they are applied all the same.
    """

    reason: str
    message: str = ""
    after: timedelta | None = None
    keep_outputs: bool = False

    def __post_init__(self) -> None:
        check_reason("Wait", self.reason)
        if not isinstance(self.message, str):
            raise _not_a_message(f"Wait({self.reason!r})", self.message)
        if self.after is not None and not isinstance(self.after, timedelta):
            raise ProgrammingError(
                f"Wait({self.reason!r}) has after={self.after!r}, which is not a timedelta.\n"
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
            _check_condition(self.condition)


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
        """What went wrong, as the message of a condition: encodable and bounded in length."""
        return condition_message(text_of(self.error)) or type(self.error).__name__


Result: TypeAlias = Done | Wait | Failed


def check_reason(where: str, reason: object) -> None:
    """Raise unless the API server would accept the reason: it refuses a whole status for one."""
    if not is_reason(reason):
        shown = reason[:80] if isinstance(reason, str) else reason
        raise ProgrammingError(
            f"{where} has the reason {shown!r}, which the API server refuses.\n"
            "  fix: use one word in CamelCase, such as 'RollingOut', and put the rest into the message"
        )


def is_reason(reason: object) -> bool:
    """Whether the API server accepts the reason.  The length comes first: it bounds the matching."""
    return (
        isinstance(reason, str)
        and len(reason) <= CONDITION_REASON_MAX
        and _REASON.fullmatch(reason) is not None
    )


def _check_condition(condition: ConditionValue) -> None:
    check_reason("ConditionValue", condition.reason)
    if condition.status not in _STATUSES:
        raise ProgrammingError(
            f"ConditionValue has the status {condition.status!r}, which the API server refuses.\n"
            "  fix: write 'True', 'False' or 'Unknown'"
        )
    if not isinstance(condition.message, str):
        raise _not_a_message("ConditionValue", condition.message)


def _not_a_message(where: str, message: object) -> ProgrammingError:
    return ProgrammingError(
        f"{where} has a message of type {type(message).__name__}, which is not a string.\n"
        "  fix: write str(...) around it"
    )


def failure_of(error: BaseException) -> Failed:
    """The failure that a raised exception stands for.

    What the controller did wrong by its own declaration is not retried: the next attempt would do
    the same.  Neither is the read of an object that cannot be read: its next change wakes the pass.
    """
    if isinstance(error, UnreadableObjectError):
        return Failed(error.reason, error, retry=False)
    if isinstance(error, ProgrammingError):
        reason = error.reason if is_reason(error.reason) else ProgrammingError.reason
        return Failed(reason, error, retry=False)
    return Failed("InternalError", UnexpectedError(error))
