"""What a check has found, before it is known which of it will be sent.

A check of a value against a schema runs into three questions that a plain list of causes cannot
answer: which of several alternatives came closest, whether a finding is a repetition, and whether
it may stay because the value has not changed.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from myrmidon.apiserver import causes
from myrmidon.apiserver.failures import StatusCause
from myrmidon.apiserver.golang import text as go_text

# In place of the old value, where there is none to compare with.
UNCORRELATED: Final[Any] = object()


class Problem(NamedTuple):
    """One finding.  ``text`` tells two of them apart; ``name`` is None if it names no field."""

    name: str | None
    text: str
    make: Callable[[str], StatusCause]

    def cause(self, prefix: str) -> StatusCause:
        """The cause that is sent; ``prefix`` is the path of what was checked."""
        name = (self.name or "").removeprefix(".")
        return self.make(causes.child(prefix, name) if name else prefix)


class Report:
    """The findings of one run, and how many checks were made.

    The real server counts the checks to find the alternative of an ``anyOf`` that came closest,
    and reports what is wrong with that one.  Counting takes time, so it is done only where no
    alternative fits.
    """

    __slots__ = ("counting", "matches", "problems")

    def __init__(self, *, counting: bool = False) -> None:
        self.problems: list[Problem] = []
        self.matches = 0  # complete only if ``counting``
        self.counting = counting

    def add(self, problem: Problem) -> None:
        """Note a finding."""
        self.problems.append(problem)

    def absorb(self, other: "Report") -> None:
        """Take over what an alternative has found."""
        self.problems.extend(other.problems)
        self.matches += other.matches

    def causes(self, prefix: str) -> list[StatusCause]:
        """All findings as they are sent, each once."""
        unique: dict[str, Problem] = {}
        for problem in self.problems:
            unique.setdefault(problem.text, problem)
        return [problem.cause(prefix) for problem in unique.values()]


# A check of a value: the value, its path, the old value (or UNCORRELATED), where to report.
Check: TypeAlias = Callable[[Any, str, Any, Report], None]


def wrong_type(path: str, expected: str, found: str) -> Problem:
    """A value of another type than the schema says."""
    text = f"{path} in body must be of type {expected}: {go_text.quote(found)}"
    return Problem(
        path, text, lambda field: causes.invalid(field, found, text, causes.TYPE_INVALID)
    )


def broken(path: str, value: Any, complaint: str) -> Problem:
    """A value that breaks a limit."""
    text = f"{path} in body {complaint}"
    return Problem(path, text, lambda field: causes.invalid(field, value, text))


def combined(text: str) -> Problem:
    """A combination of schemas that does not fit.  The real server gives these no field."""
    return Problem(None, text, lambda field: causes.invalid(field, "", text))


def missing(path: str) -> Problem:
    """A field that must be there."""
    return Problem(path, f"{path} in body is required", causes.required)


def unlisted(path: str, value: Any, choices: list[Any]) -> Problem:
    """A value that is none of an enumeration."""
    words = [choice if isinstance(choice, str) else go_text.to_json(choice) for choice in choices]
    text = f"{path} in body should be one of {words}"
    return Problem(path, text, lambda field: causes.not_supported(field, value, words))


def too_long(path: str, limit: int) -> Problem:
    """A text that is too long."""
    text = f"{path} in body should be at most {limit} chars long"
    return Problem(path, text, lambda field: causes.too_long(field, limit))


def too_many(path: str, size: int, limit: int, what: str) -> Problem:
    """A list or map that is too large."""
    text = f"{path} in body should have at most {limit} {what}"
    return Problem(path, text, lambda field: causes.too_many(field, size, limit))
