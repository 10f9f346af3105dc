"""The errors that a check has found, before they become causes of a Status.

A plain list of causes would not be enough, because three things are known only later: which of
several alternatives came closest, whether an error is a duplicate of another, and whether it is
dropped because the value has not changed (``ratcheting``).
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from myrmidon.apiserver.golang import text as go_text
from myrmidon.apiserver.refusals import causes
from myrmidon.apiserver.refusals.failures import StatusCause

# Stands for an old value if there is none to compare with.
UNCORRELATED: Final[Any] = object()


class Problem(NamedTuple):
    """One error.  Equal ``text``: the same error.  ``name`` is None if it names no field."""

    name: str | None
    text: str
    make: Callable[[str], StatusCause]

    def cause(self, prefix: str) -> StatusCause:
        """Return the cause for the client; ``prefix`` is the path of the value that was checked."""
        name = (self.name or "").removeprefix(".")
        return self.make(causes.child(prefix, name) if name else prefix)


class Report:
    """The errors of one run, and the number of checks that it made.

    The real server counts checks to find the alternative of an ``anyOf`` or ``oneOf`` that came
    closest, and reports the errors of that one.  Counting takes time, so it is done only if no
    alternative fits.
    """

    __slots__ = ("counting", "matches", "problems")

    def __init__(self, *, counting: bool = False) -> None:
        self.problems: list[Problem] = []
        self.matches = 0  # complete only if ``counting``
        self.counting = counting

    def add(self, problem: Problem) -> None:
        """Add an error."""
        self.problems.append(problem)

    def absorb(self, other: "Report") -> None:
        """Add the errors and the count of an alternative."""
        self.problems.extend(other.problems)
        self.matches += other.matches

    def causes(self, prefix: str) -> list[StatusCause]:
        """Return the errors as causes, without duplicates."""
        unique: dict[str, Problem] = {}
        for problem in self.problems:
            unique.setdefault(problem.text, problem)
        return [problem.cause(prefix) for problem in unique.values()]


# A check of a value: takes the value, its path, the old value (or UNCORRELATED) and the report.
Check: TypeAlias = Callable[[Any, str, Any, Report], None]


def wrong_type(path: str, expected: str, found: str) -> Problem:
    """Return the error of a value that does not have the type of the schema."""
    text = f"{path} in body must be of type {expected}: {go_text.quote(found)}"
    return Problem(
        path, text, lambda field: causes.invalid(field, found, text, causes.TYPE_INVALID)
    )


def broken(path: str, value: Any, complaint: str) -> Problem:
    """Return the error of a value that violates a limit."""
    text = f"{path} in body {complaint}"
    return Problem(path, text, lambda field: causes.invalid(field, value, text))


def combined(text: str) -> Problem:
    """Return the error of a combination such as ``anyOf``; the real server gives it no field."""
    return Problem(None, text, lambda field: causes.invalid(field, "", text))


def missing(path: str) -> Problem:
    """Return the error of a required field that is missing."""
    return Problem(path, f"{path} in body is required", causes.required)


def unlisted(path: str, value: Any, choices: list[Any]) -> Problem:
    """Return the error of a value that is not in the enumeration."""
    words = [choice if isinstance(choice, str) else go_text.to_json(choice) for choice in choices]
    text = f"{path} in body should be one of {words}"
    return Problem(path, text, lambda field: causes.not_supported(field, value, words))


def too_long(path: str, limit: int) -> Problem:
    """Return the error of a string that is too long."""
    text = f"{path} in body should be at most {limit} chars long"
    return Problem(path, text, lambda field: causes.too_long(field, limit))


def too_many(path: str, size: int, limit: int, what: str) -> Problem:
    """Return the error of a list or map that has too many entries."""
    text = f"{path} in body should have at most {limit} {what}"
    return Problem(path, text, lambda field: causes.too_many(field, size, limit))
