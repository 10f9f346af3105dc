r"""Regular expressions of Go, run by Python.

The two dialects agree on most of what people write.  Where they do not, the text is rewritten:
``$`` means the very end, ``\d`` and its like are ASCII, flags may stand in the middle, POSIX and
Unicode classes have names.  What Go does not know (looking around, backreferences) is refused.
"""

import re
import sys
import unicodedata
from functools import lru_cache

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7f",
    "blank": "\\t ",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_REPEAT_MAX = 1000


class PatternError(ValueError):
    """The text is no regular expression of Go; the message is Go's."""


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a regular expression of Go."""
    rewritten = _Rewriter(pattern).run()
    try:
        return re.compile(rewritten, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        if bad := re.search(r"bad character range (.+?)(?: at position.*)?$", str(error)):
            problem = f"invalid character class range: `{bad[1]}`"
            raise PatternError(f"error parsing regexp: {problem}") from error
        raise PatternError(f"error parsing regexp: {error}: `{pattern}`") from error


class _Rewriter:
    """Walks over a pattern once and writes it again in Python's dialect."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._out: list[str] = []
        # For every open group: is (?m) on, and how many groups were opened to hold flags.
        self._groups: list[tuple[bool, int]] = []
        self._multiline, self._wrapped = False, 0
        self._repeatable = False  # whether a repetition may follow here

    def run(self) -> str:
        while self._at < len(self._text):
            self._step(self._text[self._at])
        if self._groups:
            raise self._fail("missing closing )", self._text)
        self._out.append(")" * self._wrapped)
        return "".join(self._out)

    def _step(self, char: str) -> None:
        match char:
            case "\\":
                self._repeatable = True
                self._escape(in_class=False)
            case "[":
                self._repeatable = True
                self._character_class()
            case "(":
                self._open()
            case ")":
                self._close()
            case "$":
                self._emit("$" if self._multiline else "\\Z", 1)
            case "*" | "+" | "?" | "{":
                self._repetition()
            case "|":
                self._emit(char, 1, repeatable=False)
            case _:
                self._emit(char, 1)

    def _emit(self, text: str, consumed: int, *, repeatable: bool = True) -> None:
        self._out.append(text)
        self._at += consumed
        self._repeatable = repeatable

    def _fail(self, problem: str, part: str) -> PatternError:
        return PatternError(f"error parsing regexp: {problem}: `{part}`")

    def _repetition(self) -> None:
        found = re.compile(r"[*+?]|\{(\d+)(?:,(\d*))?\}").match(self._text, self._at)
        if found is None:  # a brace that is no repetition stands for itself
            self._emit("\\{", 1)
            return
        if any(int(count or 0) > _REPEAT_MAX for count in found.groups()):
            raise self._fail("invalid repeat count", found.group())
        lazy = self._text[found.end() : found.end() + 1] == "?"
        written = found.group() + "?" * lazy
        if not self._repeatable:
            previous = self._out[-1] if self._out and self._out[-1][-1:] in "*+?}" else ""
            problem = "invalid nested repetition operator" if previous else ""
            raise self._fail(
                problem or "missing argument to repetition operator", previous + written
            )
        self._emit(written, len(written), repeatable=False)

    def _open(self) -> None:
        found = re.compile(
            r"\((?:\?(?P<flags>[imsU]*(?:-[imsU]+)?)(?P<end>[:)])|\?P?<(?P<name>\w+)>)?"
        ).match(self._text, self._at)
        assert found is not None
        if found.group() == "(" and self._text.startswith("(?", self._at):
            raise self._fail(
                "invalid or unsupported Perl syntax", self._text[self._at : self._at + 3]
            )
        on, _, off = (found["flags"] or "").replace("U", "").partition("-")
        multiline = ("m" in on) or (self._multiline and "m" not in off)
        flags = on + (f"-{off}" if off else "")
        if found["end"] == ")":  # for the rest of the group that it stands in
            self._multiline = multiline
            self._wrapped += 1
            self._emit(f"(?{flags}:", len(found.group()), repeatable=False)
            return
        self._groups.append((self._multiline, self._wrapped))
        self._multiline, self._wrapped = multiline, 0
        opening = f"(?P<{found['name']}>" if found["name"] else "("
        if found["end"]:
            opening = f"(?{flags}:"
        self._emit(opening, len(found.group()), repeatable=False)

    def _close(self) -> None:
        if not self._groups:
            raise self._fail("unexpected )", self._text)
        self._emit(")" * (self._wrapped + 1), 1)
        self._multiline, self._wrapped = self._groups.pop()

    def _escape(self, *, in_class: bool) -> None:
        char = self._text[self._at + 1 : self._at + 2]
        if not char:
            raise self._fail("trailing backslash at end of expression", "")
        if char == "Q":
            end = self._text.find("\\E", self._at + 2)
            end = end if end >= 0 else len(self._text)
            self._out.append(re.escape(self._text[self._at + 2 : end]))
            self._at = end + 2
        elif char in "pP":
            self._unicode_class(in_class=in_class)
        elif char == "z" and not in_class:
            self._emit("\\Z", 2)
        elif char == "x" and self._text.startswith("\\x{", self._at):
            end = self._text.index("}", self._at)
            self._emit(re.escape(chr(int(self._text[self._at + 3 : end], 16))), end + 1 - self._at)
        elif char in "123456789ZCRXKGhHkgNuU" or (char == "A" and in_class):
            raise self._fail("invalid escape sequence", f"\\{char}")
        else:
            self._emit(f"\\{char}", 2)

    def _character_class(self) -> None:
        self._emit("[", 1)
        if self._text.startswith("^", self._at):
            self._emit("^", 1)
        first = True
        while first or not self._text.startswith("]", self._at):
            if self._at >= len(self._text):
                raise self._fail("missing closing ]", self._text)
            first = False
            self._class_member()
        self._emit("]", 1)

    def _class_member(self) -> None:
        posix = re.compile(r"\[:(\^?)(\w+):\]").match(self._text, self._at)
        char = self._text[self._at]
        if posix is not None:
            if posix[2] not in _POSIX or posix[1]:
                raise self._fail("invalid character class range", posix.group())
            self._emit(_POSIX[posix[2]], len(posix.group()))
        elif char == "\\":
            self._escape(in_class=True)
        else:
            # Python warns of what may one day be a set operation.
            self._emit(f"\\{char}" if char in "[]&~|" else char, 1)

    def _unicode_class(self, *, in_class: bool) -> None:
        found = re.compile(r"\\([pP])(?:\{(\^?)(\w+)\}|(\w))").match(self._text, self._at)
        name = (found[3] or found[4]) if found else ""
        members = unicode_class(name)
        if found is None or not members:
            raise self._fail("invalid character class range", self._text[self._at : self._at + 3])
        negated = (found[1] == "P") != bool(found[2])
        if in_class and negated:
            raise self._fail("invalid character class range", found.group())
        written = members if in_class else f"[{'^' * negated}{members}]"
        self._emit(written, len(found.group()))


@lru_cache(maxsize=32)
def unicode_class(name: str) -> str:
    """The characters of a general category (``L``, ``Lu``) as the inside of a class, or ``""``."""
    ranges: list[list[int]] = []
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)).startswith(name):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)
