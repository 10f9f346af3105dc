"""What the server cannot know by itself: the time, new identifiers, random letters.

They come in through one value, so that a test or a simulator can hand in a deterministic one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Protocol

SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH = 5


class Environment(Protocol):
    """Where the server meets the world."""

    def now(self) -> datetime:
        """The time, aware and in UTC."""
        ...

    def uid(self) -> str:
        """A uid that was not used before."""
        ...

    def suffix(self) -> str:
        """The random end of a generated name."""
        ...


@dataclass
class CountingEnvironment:
    """Deterministic environment: a fixed time that a test may move, and numbers in order."""

    time: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    _uids: Iterator[int] = field(default_factory=lambda: count(1))
    _suffixes: Iterator[int] = field(default_factory=lambda: count(0))

    def now(self) -> datetime:
        """The time that was set."""
        return self.time

    def uid(self) -> str:
        """The next number as a uid."""
        return f"00000000-0000-4000-8000-{next(self._uids):012x}"

    def suffix(self) -> str:
        """The next number, written with the letters of generated names."""
        number, letters = next(self._suffixes), ""
        for _ in range(SUFFIX_LENGTH):
            number, index = divmod(number, len(SUFFIX_LETTERS))
            letters = SUFFIX_LETTERS[index] + letters
        return letters
