"""Regular expressions with the syntax and semantics of Go's ``regexp``, in linear time.

``regex_parser`` parses a pattern, or refuses it with Go's message; ``regex_automaton`` runs it.
"""

from functools import cached_property, lru_cache
from typing import NamedTuple

from myrmidon.apiserver.golang.budget import spend
from myrmidon.apiserver.golang.regex_automaton import Automaton
from myrmidon.apiserver.golang.regex_parser import PatternError, parse
from myrmidon.apiserver.golang.regex_syntax import Node

__all__ = ["Found", "Pattern", "PatternError", "compile_pattern"]

_CHARACTERS_PER_STEP = 8  # a character with a cached move is this much cheaper


class Found(NamedTuple):
    """The position of a match."""

    start: int
    end: int


class Pattern:
    """A compiled pattern."""

    def __init__(self, node: Node) -> None:
        self._node = node

    @cached_property
    def _forwards(self) -> Automaton:
        return Automaton(self._node, leftmost=True)

    @cached_property
    def _backwards(self) -> Automaton:
        return Automaton(self._node, leftmost=False)

    def matches(self, text: str) -> bool:
        """Whether the text contains a match."""
        spend(len(text) // _CHARACTERS_PER_STEP)
        move = self._forwards.move
        state = self._forwards.start("")
        for char in text:
            found = state.moves.get(char) or move(state, char)
            if found[0]:
                return True
            if found[1] is None:
                return False
            state = found[1]
        return move(state, "")[0]

    def find(self, text: str, start: int = 0) -> Found | None:
        """Return the match that Go finds at or after ``start``, or None."""
        spend(1)
        end = self._find_end(text, start)
        return None if end < 0 else Found(self._find_start(text, start, end), end)

    def _find_end(self, text: str, start: int) -> int:
        move, at, end = self._forwards.move, start, -1
        state = self._forwards.start(text[start - 1] if start else "")
        for at in range(start, len(text) + 1):
            matched, following = move(state, text[at : at + 1])
            if matched:
                end = at
            if following is None:
                break
            state = following
        spend((at - start) // _CHARACTERS_PER_STEP)
        return end

    def _find_start(self, text: str, limit: int, end: int) -> int:
        """Return the leftmost start of a match that ends at ``end``."""
        move, found = self._backwards.move, end
        state = self._backwards.start(text[end : end + 1])
        for at in range(end, limit - 1, -1):
            matched, following = move(state, text[at - 1] if at else "")
            if matched:
                found = at
            if following is None:
                break
            state = following
        return found


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Pattern:
    """Return the compiled pattern; raise ``PatternError`` if Go would not compile it."""
    return Pattern(parse(pattern))
