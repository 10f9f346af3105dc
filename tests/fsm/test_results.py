"""Results: arguments that make no sense together are refused."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from myrmidon.api.objects.conditions import ConditionValue
from myrmidon.errors import ProgrammingError, UndeclaredReadError, UnreadableObjectError
from myrmidon.fsm import Done, Failed, Wait
from myrmidon.fsm.machine.raised import UnexpectedError
from myrmidon.fsm.machine.results import failure_of

WAIT = Wait("Waiting")
VALUE = ConditionValue("True", "Fine")
REASON = (
    ", which the API server refuses.\n"
    "  fix: use one word in CamelCase, such as 'RollingOut', and put the rest into the message"
)
MESSAGE = ", which is not a string.\n  fix: write str(...) around it"
BOTH = "Done(...) cannot have both {} and {}: each says what the condition is.\n  fix: drop one of them"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Wait("not one word"), "Wait has the reason 'not one word'" + REASON),
        (lambda: Wait(""), "Wait has the reason ''" + REASON),
        (lambda: Failed("1st", "no"), "Failed has the reason '1st'" + REASON),
        (lambda: Wait("A" * 1025), f"Wait has the reason '{'A' * 80}'" + REASON),
        (lambda: Wait(None), "Wait has the reason None" + REASON),  # type: ignore[arg-type]
        (lambda: Wait("Waiting\n"), r"Wait has the reason 'Waiting\n'" + REASON),
        (
            lambda: Wait("Waiting", 5),  # type: ignore[arg-type]
            "Wait('Waiting') has a message of type int" + MESSAGE,
        ),
        (
            lambda: Done(condition=ConditionValue("True", "Fine", None)),  # type: ignore[arg-type]
            "ConditionValue has a message of type NoneType" + MESSAGE,
        ),
        (
            lambda: Done(condition=ConditionValue("true", "Fine")),  # type: ignore[arg-type]
            (
                "ConditionValue has the status 'true', which the API server refuses.\n"
                "  fix: write 'True', 'False' or 'Unknown'"
            ),
        ),
        (
            lambda: Done(condition=ConditionValue("True", "no!")),
            "ConditionValue has the reason 'no!'" + REASON,
        ),
        (
            lambda: Wait("Waiting", after=timedelta(seconds=-1)),
            (
                "Wait('Waiting') has a negative `after`: -1 day, 23:59:59.\n"
                "  fix: pass a positive timedelta, or None for a growing delay"
            ),
        ),
        (
            lambda: Wait("Waiting", after=5),  # type: ignore[arg-type]
            (
                "Wait('Waiting') has after=5, which is not a timedelta.\n"
                "  fix: write after=timedelta(seconds=5)"
            ),
        ),
        (lambda: Done(condition=VALUE, recheck=WAIT), BOTH.format("condition", "recheck")),
        (lambda: Done(condition=VALUE, pause=WAIT), BOTH.format("condition", "pause")),
        (lambda: Done(recheck=WAIT, pause=WAIT), BOTH.format("recheck", "pause")),
        (
            lambda: Done(goto="a", pause=WAIT),
            (
                "Done(...) cannot have both goto and pause: a paused walk enters no further state.\n"
                "  fix: drop goto; the next pass decides again"
            ),
        ),
    ],
    ids=range(16),
)
def test_senseless_results_are_refused(make: Any, text: str) -> None:
    """The error is raised where the result is built, with the fix."""
    with pytest.raises(ProgrammingError) as caught:
        make()

    assert str(caught.value) == text


def test_an_exception_is_a_failure() -> None:
    """A breach of the controller's own declaration is not retried (D3)."""
    undeclared = UndeclaredReadError("Things", "made", "Secret (v1)")

    assert failure_of(undeclared) == Failed("UndeclaredRead", undeclared, retry=False)
    raised = failure_of(KeyError())
    assert (raised.reason, raised.message, raised.retry) == ("InternalError", "KeyError", True)
    assert Failed("Broken", "in words").message == "in words"
    assert failure_of(ProgrammingError("x")).reason == "ProgrammingError"
    unreadable = UnreadableObjectError("Secret default/a", "it is not valid JSON")
    assert failure_of(unreadable) == Failed("UnreadableObject", unreadable, retry=False)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (asyncio.CancelledError(), "CancelledError: the state awaited a task or future"),
        (SystemExit(3), "SystemExit: a state cannot end the process"),
    ],
    ids=["cancelled", "exit"],
)
def test_an_exception_without_a_text_is_explained(error: BaseException, said: str) -> None:
    """Its text is empty or a number, so the type is part of the message."""
    assert failure_of(error).message.startswith(said)


class OddError(ProgrammingError):
    """A user's own subclass, with a reason that the server refuses."""

    reason = "not one word"


def test_an_exception_with_an_invalid_reason_is_still_reported() -> None:
    """The condition is written with another reason."""
    assert failure_of(OddError("x")).reason == "ProgrammingError"


def _broken(found: dict[str, str]) -> str:
    return found["data"]


def test_an_exception_says_what_it_is_and_where() -> None:
    """The location is the last line in the state's own file, also if a library raised it."""
    failures = []
    for broken in (lambda: _broken({}), lambda: json.loads("{")):
        try:
            broken()
        except Exception as error:  # noqa: BLE001
            failures.append(failure_of(error))
    own, library = (failure.message for failure in failures)
    here = _broken.__code__.co_firstlineno

    assert own == f"KeyError: 'data' (test_results.py:{here + 1})"
    assert library.startswith("JSONDecodeError: Expecting property name")
    assert library.endswith(f"(test_results.py:{here + 7})")
    assert isinstance(failures[0].error, UnexpectedError)
    assert isinstance(failures[0].error.__cause__, KeyError)
