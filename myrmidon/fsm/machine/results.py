"""The results that a state can return: ``Done``, ``Wait`` or ``Failed``.

    result   condition  outputs                         next
    -------  ---------  ------------------------------  -------------------------------------
    Done     True       written                         the next state, or the end of the walk
    Wait     False      dropped, unless keep_outputs    the walk stops; another pass later
    Failed   False      dropped                         the walk stops; retried with backoff

A ``Wait`` is not an error and is not logged as one.

Reason and message become those of the state's condition.  One reason that the API server does not
accept makes it refuse the whole status, so a reason is checked when the result is constructed.  A
message can be any text: it is made encodable and shortened where the condition is written
(``api/values/texts.py``).
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias, get_args

from myrmidon.api.objects.conditions import ConditionStatus, ConditionValue
from myrmidon.api.values.texts import CONDITION_REASON_MAX, condition_message, text_of
from myrmidon.errors import ProgrammingError, RemoteUnavailableError, UnreadableObjectError
from myrmidon.fsm.machine.raised import UnexpectedError

_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_STATUSES = get_args(ConditionStatus)
_TRUE = ConditionValue("True", "Done")


@dataclass(frozen=True, slots=True)
class Wait:
    """The state does not hold yet, and that is expected.  The walk stops here.

    - ``reason`` and ``message`` go into the condition, which is False.
    - ``after``: run another pass after this time, but not before 0.1 seconds have passed.  Default:
      None, a growing delay.  A change of the object or its children triggers a pass sooner.
    - ``keep_outputs``: True writes the state's outputs although it does not hold yet, False drops
      them.  Default: None, they are dropped, and the first time that a state drops outputs a
      warning says so.
    """

    reason: str
    message: str = ""
    after: timedelta | None = None
    keep_outputs: bool | None = None

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
    """The state holds: its outputs are written and its condition is True.

    - ``goto``: the next state.  Needed where ``then`` declares several.
    - ``condition``: the value of the state's condition instead of True; the walk continues.
    - ``recheck``: the walk continues, and another pass follows as the Wait says.  The state's
      condition has the reason and message of the Wait; it and Ready are False.
    - ``pause``: the outputs are written, but the walk stops here and another pass follows as the
      Wait says; the state's condition is True.  Not together with ``goto``.
    - ``again``: the object gets another pass at this time: a ``datetime`` with a time zone, or a
      ``timedelta`` from the beginning of this pass (``ctx.now``).  The walk continues, and neither
      the condition nor Ready changes because of it: the state holds, and it is looked at again.
      For schedules, expiry, rotation and polling.  If several states ask, the earliest time wins.
      A change or a resync can cause a pass before that time, so compare ``ctx.now`` with it.
      Nothing is stored: every pass says it again, so it outlives a restart.  Not in a finalizer
      state, which says with a Wait that it is not finished.

    At most one of ``condition``, ``recheck`` and ``pause`` can be set, and ``again`` only together
    with ``goto`` and ``condition``.
    """

    goto: str | None = None
    condition: ConditionValue | None = None
    recheck: Wait | None = None
    pause: Wait | None = None
    again: timedelta | datetime | None = None

    def __post_init__(self) -> None:
        if self.goto is not None and not isinstance(self.goto, str):
            raise _not_a_state(self.goto)
        if self.again is not None:
            _check_again(self)
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
                "Done(...) cannot have both goto and pause: a paused walk enters no further state.\n"
                "  fix: drop goto; the next pass decides again"
            )
        if self.condition is not None:
            _check_condition(self.condition)


@dataclass(frozen=True, slots=True)
class Failed:
    """The state failed: its outputs are dropped, its condition is False, and the walk stops.

    The pass is retried after a growing delay; with ``retry=False`` only when the object, or an
    object that it depends on, changes.  An exception that a state raises has the same effect, with
    the reason ``InternalError`` (``failure_of`` has the exceptions to that).
    """

    reason: str
    error: Exception | str
    retry: bool = True

    def __post_init__(self) -> None:
        check_reason("Failed", self.reason)

    @property
    def message(self) -> str:
        """The error as the message of a condition: encodable and bounded in length."""
        return condition_message(text_of(self.error)) or type(self.error).__name__


Result: TypeAlias = Done | Wait | Failed


def check_reason(where: str, reason: object) -> None:
    """Raise ``ProgrammingError`` unless the API server accepts the reason.

    One bad reason would make the server refuse the whole status.
    """
    if not is_reason(reason):
        shown = reason[:80] if isinstance(reason, str) else reason
        raise ProgrammingError(
            f"{where} has the reason {shown!r}, which the API server refuses.\n"
            "  fix: use one word in CamelCase, such as 'RollingOut', and put the rest into the message"
        )


def is_reason(reason: object) -> bool:
    """Whether the API server accepts the reason.

    The length is checked first, so that the regular expression never runs on a long text.
    """
    return (
        isinstance(reason, str)
        and len(reason) <= CONDITION_REASON_MAX
        and _REASON.fullmatch(reason) is not None
    )


def _check_again(done: Done) -> None:
    again = done.again
    other = "recheck" if done.recheck is not None else "pause"
    if done.recheck is not None or done.pause is not None:
        raise ProgrammingError(
            f"Done(...) cannot have both again and {other}: again says that the state holds, {other} "
            f"that the object is not finished.\n  fix: drop one of them; the Wait of {other} has "
            "`after` for the time"
        )
    if isinstance(again, datetime):
        if again.utcoffset() is None:
            raise ProgrammingError(
                f"Done(...) has again={again!r}, which has no time zone.\n"
                "  fix: compute it from ctx.now, or write datetime(..., tzinfo=UTC)"
            )
    elif not isinstance(again, timedelta):
        raise ProgrammingError(
            f"Done(...) has again={again!r}, which is neither a timedelta nor a datetime.\n"
            f"  fix: write again=timedelta(seconds={again!r})"
        )
    elif again < timedelta(0):
        raise ProgrammingError(
            f"Done(...) has a negative `again`: {again}.\n"
            "  fix: pass a positive timedelta; a datetime in the past means at once"
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
    fix = (
        f"write after={message!r}" if isinstance(message, timedelta) else "write str(...) around it"
    )
    return ProgrammingError(
        f"{where} has a message of type {type(message).__name__}, which is not a string.\n"
        f"  fix: {fix}"
    )


def _not_a_state(goto: object) -> ProgrammingError:
    """Return the error for a ``goto`` that is a method, a result or anything else than a name."""
    name = getattr(goto, "__name__", "")
    fix = f'write Done(goto="{name}")' if name else "write the name of the next state as text"
    if isinstance(goto, Wait):
        fix = "write Done(recheck=Wait(...)) or Done(pause=Wait(...)), or return the Wait itself"
    return ProgrammingError(
        f"Done(...) has goto={name or goto!r}, which is not the name of a state.\n  fix: {fix}"
    )


def failure_of(error: BaseException) -> Failed:
    """Return the Failed that an exception raised by a state amounts to.

    A ``ProgrammingError`` is not retried, because the next attempt would do the same.  Neither is
    an ``UnreadableObjectError``: the object's next change triggers a pass.
    """
    if isinstance(error, RemoteUnavailableError):
        return Failed("ClusterUnavailable", error)
    if isinstance(error, UnreadableObjectError):
        return Failed(error.reason, error, retry=False)
    if isinstance(error, ProgrammingError):
        reason = error.reason if is_reason(error.reason) else ProgrammingError.reason
        return Failed(reason, error, retry=False)
    return Failed("InternalError", UnexpectedError(error))


def value_of(done: Done) -> ConditionValue:
    """Return the condition value of a state that returned Done."""
    if done.condition is not None:
        return done.condition
    if done.recheck is not None:
        return ConditionValue("False", done.recheck.reason, done.recheck.message)
    return _TRUE
