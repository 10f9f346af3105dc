"""The syntax tree of a regular expression, built by ``regex_parser`` for ``regex_automaton``."""

import re
import unicodedata
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

# Case variants that Go folds, but that Python's lower() and upper() do not return.
_FOLDED = {
    "k": "\u212a",
    "s": "\u017f",
    "\u00e5": "\u212b",
    "\u00df": "\u1e9e",
    "\u03b8": "\u03f4\u03d1",
    "\u03c9": "\u2126",
    "\u03bc": "\u00b5",
}


class Edge(Enum):
    """A condition on the position between two characters."""

    TEXT_START = r"\A"
    TEXT_END = r"\z"
    LINE_START = "(?m)^"
    LINE_END = "(?m)$"
    WORD = r"\b"
    NOT_WORD = r"\B"


@dataclass(frozen=True, slots=True)
class CharSet:
    """A set of characters: ranges, nested sets, and whether case is ignored."""

    ranges: tuple[tuple[str, str], ...] = ()
    inner: tuple["CharSet", ...] = ()
    category: str = ""  # a Unicode category, as in \p{Lu}
    negated: bool = False
    fold: bool = False

    def contains(self, char: str) -> bool:
        """Whether the character is in the set."""
        if self.fold:
            return any(map(self._has, _variants(char))) is not self.negated
        return self._has(char) is not self.negated

    def _has(self, char: str) -> bool:
        if self.category and unicodedata.category(char).startswith(self.category):
            return True
        if any(low <= char <= high for low, high in self.ranges):
            return True
        return any(inner.contains(char) for inner in self.inner)


def _variants(char: str) -> set[str]:
    """Return all case variants of a character."""
    found = {char, char.lower(), char.upper()}
    for low, others in _FOLDED.items():
        if char.lower() == low or char in others:
            found |= {low, low.upper(), *others}
    return {each for each in found if len(each) == 1}


@dataclass(frozen=True, slots=True)
class Repeat:
    """A node repeated ``low`` to ``high`` times (None: no limit), greedy or lazy."""

    node: "Node"
    low: int
    high: int | None
    lazy: bool


@dataclass(frozen=True, slots=True)
class Sequence:
    """Nodes one after the other."""

    nodes: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several nodes; the earlier ones are preferred."""

    nodes: tuple["Node", ...]


Node: TypeAlias = CharSet | Edge | Repeat | Sequence | Choice

_WORD = re.compile("[0-9A-Za-z_]")


def is_word(char: str) -> bool:
    r"""Whether the character is part of a word, as ``\b`` sees it."""
    return _WORD.match(char) is not None
