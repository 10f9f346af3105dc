"""Scanner: finds the parts of a JSON text without decoding them.

A decoder refuses a whole answer because of one value in it: a number that no float can hold, half
of a surrogate pair, ten thousand levels of nesting.  The scanner only counts brackets and skips
strings, so it can tell where each item of a list begins and ends, and the items can be decoded one
by one.  It does not recurse, and looks at each byte once.

It is ten times slower than a decoder and is used only if the decoder has refused a text.

It does not validate the parts.  A text with balanced brackets may still have values that are not
JSON; decoding the part finds that.
"""

import re
from collections.abc import Iterator

# The next bracket, and all before it.  Strings are skipped; an unterminated string does not match.
_TO_BRACKET = re.compile(
    rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+(?:([\[{])|([\]}]))', re.DOTALL
)
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_SPACE = re.compile(rb"[ \t\r\n]*+")
_WORD = re.compile(rb'[^\s"\[\]{},:]++')  # a number, true, false, null, or an invalid value


class BrokenJsonError(ValueError):
    """The brackets, commas or quotes of a text do not match."""


class Scanner:
    """A position (``at``) in a JSON text that moves forward, value by value."""

    def __init__(self, text: bytes, at: int = 0) -> None:
        self._text, self.at = text, at

    def members(self) -> Iterator[bytes]:
        """Yield each key of the object at the position, with its quotes.

        The position is then at the value.  If the caller does not skip the value, the next step
        does.
        """
        for _ in self._between(b"{", b"}"):
            key = self._match(_STRING)
            self._expect(b":")
            began_at = self.at
            yield key
            if self.at == began_at:
                self.skip()

    def elements(self) -> Iterator[int]:
        """Yield the offset of each element of the list at the position.

        The position is then at the element.  If the caller does not skip it, the next step does.
        """
        for began_at in self._between(b"[", b"]"):
            yield began_at
            if self.at == began_at:
                self.skip()

    def skip(self) -> tuple[int, int]:
        """Skip the value at the position; return the offsets where it begins and ends."""
        began_at = self.at
        match self.next_byte():
            case b'"':
                self._match(_STRING)
            case b"{" | b"[":
                self._skip_container()
            case _:
                self._match(_WORD)
        return began_at, self.at

    def next_byte(self) -> bytes:
        """Return the byte at the position, ``b""`` at the end of the text."""
        return self._text[self.at : self.at + 1]

    def step_over_comma(self) -> None:
        """Skip the comma before the next value; do nothing at the end of the text."""
        self._skip_space()
        if self.at < len(self._text):
            self._expect(b",")

    def expect_end(self) -> None:
        """Raise ``BrokenJsonError`` if anything but white space is left."""
        self._skip_space()
        if self.at != len(self._text):
            raise BrokenJsonError(f"text after the end of the value, at byte {self.at}")

    # --------------------------------------------------------------------------- inside

    def _between(self, opening: bytes, closing: bytes) -> Iterator[int]:
        """Yield the offset of each entry between two brackets; the caller skips the entry."""
        self._expect(opening)
        if self.next_byte() == closing:
            self._expect(closing)
            return
        while True:
            yield self.at
            self._skip_space()
            if self.next_byte() == closing:
                self._expect(closing)
                return
            self._expect(b",")

    def _skip_container(self) -> None:
        depth, find, text, at = 0, _TO_BRACKET.match, self._text, self.at
        while found := find(text, at):
            at = found.end()
            depth += 1 if found.lastindex == 1 else -1
            if depth == 0:
                self.at = at
                return
        raise BrokenJsonError(f"a bracket is not closed, at byte {self.at}")

    def _match(self, pattern: re.Pattern[bytes]) -> bytes:
        found = pattern.match(self._text, self.at)
        if found is None:
            raise BrokenJsonError(f"not JSON, at byte {self.at}")
        self.at = found.end()
        return found[0]

    def _expect(self, byte: bytes) -> None:
        """Skip this byte and the white space around it; raise if another byte is there."""
        self._skip_space()
        if self.next_byte() != byte:
            raise BrokenJsonError(f"{byte.decode()!r} is missing, at byte {self.at}")
        self.at += 1
        self._skip_space()

    def _skip_space(self) -> None:
        found = _SPACE.match(self._text, self.at)
        assert found is not None, "the pattern matches the empty string"
        self.at = found.end()
