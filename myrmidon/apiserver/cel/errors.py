"""Errors in a rule, with their positions, as the real server prints them.

A position is an offset in code points into the text of the rule.  A message shows the line, the
column and a pointer under the position, so its layout must be exactly that of the real server.
"""

from collections.abc import Iterable
from typing import NamedTuple

MOST_ISSUES = 100  # the other errors are only counted
LONGEST_SNIPPET = 16384


class CelError(Exception):
    """A rule does not compile, or its evaluation failed."""


class CelCompileError(CelError):
    """The rule does not compile; the text is the whole message, with prefix and pointers."""


class CelEvaluationError(CelError):
    """The evaluation failed for these values, for example ``no such key: count``."""


class CelCostError(CelError):
    """The rule exceeded its cost limit.  ``&&`` and ``||`` do not ignore this error."""


class Issue(NamedTuple):
    """One error at a position; -1 if it has none."""

    pos: int
    message: str


def render(text: str, issues: Iterable[Issue]) -> str:
    """Return all errors in the order of their positions, each with its line and a pointer."""
    lines = text.split("\n")
    placed = sorted(((*_place(lines, issue.pos), issue.message) for issue in issues), key=_where)
    shown = [_show(lines, *entry) for entry in placed[:MOST_ISSUES]]
    if len(placed) > MOST_ISSUES:
        shown.append(f"{len(placed) - MOST_ISSUES} more errors were truncated")
    return "\n".join(shown)


def _where(entry: tuple[int, int, str]) -> tuple[int, int]:
    return entry[:2]


def _place(lines: list[str], pos: int) -> tuple[int, int]:
    if pos < 0:
        return -2, -1
    for number, line in enumerate(lines):
        if pos <= len(line):
            return number, pos
        pos -= len(line) + 1
    return len(lines) - 1, len(lines[-1])


def _show(lines: list[str], line: int, column: int, message: str) -> str:
    head = f"ERROR: <input>:{line + 1}:{column + 1}: {message}"
    if line < 0:
        return head
    snippet = lines[line].replace("\t", " ")
    if len(snippet.encode()) > LONGEST_SNIPPET:
        return head
    # Wide characters get wide dots, so that the pointer stays below the right column.
    dots = "".join("." if ord(char) < 128 else "\uff0e" for char in snippet[:column])
    pointer = "\uff3e" if ord(snippet[column : column + 1] or "x") >= 128 else "^"
    return f"{head}\n | {snippet}\n | {dots}{pointer}"
