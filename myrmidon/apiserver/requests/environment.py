"""The inputs of the server that are not in a request: the time, new uids and random name suffixes.

They are passed in as one value, so that a test or a simulator can pass a deterministic one.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH = 5


class Environment(Protocol):
    """Source of the time, of uids and of random name suffixes."""

    def now(self) -> datetime:
        """Return the current time, timezone-aware and in UTC."""
        ...

    def uid(self) -> str:
        """Return a uid that was not returned before."""
        ...

    def suffix(self) -> str:
        """Return the random suffix of a generated name."""
        ...


@dataclass
class CountingEnvironment:
    """A deterministic environment: a time that tests may set, uids and suffixes that count up."""

    time: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    uids_drawn: int = 0
    suffixes_drawn: int = 0

    def now(self) -> datetime:
        """Return ``time``."""
        return self.time

    def uid(self) -> str:
        """Return the next number as a uid."""
        self.uids_drawn += 1
        return f"00000000-0000-4000-8000-{self.uids_drawn:012x}"

    def suffix(self) -> str:
        """Return the next number, written with the letters of generated names."""
        number, letters = self.suffixes_drawn, ""
        self.suffixes_drawn += 1
        for _ in range(SUFFIX_LENGTH):
            number, index = divmod(number, len(SUFFIX_LETTERS))
            letters = SUFFIX_LETTERS[index] + letters
        return letters
