r"""Patterns of Go's ``regexp``, translated to Python's ``re``.

Both find the leftmost match and prefer what is written first, so translated patterns find the same.
Go has no lookaround, no backreferences, no possessive quantifiers: refused here with its words.
``$`` is the end of the text, ``\d``, ``\w``, ``\s`` and ``\b`` know ASCII only, flags in the
middle hold to the end of their group.  What this cannot do: scripts (``\p{Greek}``), and Go's
promise of linear time.
"""

import re
import sys
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache

MOST_REPEATS = 1000

_ANCHORS = {
    "A": r"(?:\A)",
    "z": r"(?:\Z)",
    "b": r"(?a:\b)",
    "B": r"(?:(?a:\B)|\A\Z)",  # Python finds no \B in an empty text
}
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7f",
    "blank": "\\t\\x20",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": "\\x20-~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r\\x20",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_PERL = {"d": "0-9", "w": "0-9A-Za-z_", "s": "\\t\\n\\f\\r\\x20"}
_CONTROL = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_REPEAT = re.compile(r"\{([0-9]+)(,([0-9]*))?\}")
_FLAGS = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_NAMED = re.compile(r"\(\?P?<([A-Za-z0-9_]+)>")
_CATEGORIES = frozenset(
    (
        *("L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No"),
        *("P", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S", "Sm", "Sc", "Sk", "So"),
        *("Z", "Zs", "Zl", "Zp", "C", "Cc", "Cf"),
    )
)
_HIGHEST = 0x10FFFF
_ALL = f"\\x00-\\U{_HIGHEST:08x}"


class PatternError(ValueError):
    """The pattern is none; the text is Go's."""

    def __init__(self, problem: str, where: str) -> None:
        super().__init__(f"error parsing regexp: {problem}: `{where}`")


@lru_cache(maxsize=1024)
def translate(pattern: str) -> re.Pattern[str]:
    """The compiled pattern; PatternError if Go would not compile it."""
    return re.compile(_Translator(pattern).translate())


@dataclass(slots=True)
class _Modes:
    fold: bool = False
    lines: bool = False
    dots: bool = False
    lazy: bool = False

    def changed(self, on: str, off: str) -> "_Modes":
        modes = _Modes(self.fold, self.lines, self.dots, self.lazy)
        for letters, value in ((on, True), (off, False)):
            for letter in letters:
                setattr(modes, {"i": "fold", "m": "lines", "s": "dots", "U": "lazy"}[letter], value)
        return modes


class _Translator:
    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._modes = _Modes()
        self._outer: list[tuple[_Modes, int]] = []  # what holds outside of the group, and its start
        self._names: list[str] = []
        self._out: list[str] = []
        self._last = -1  # where the last thing that can be repeated is in the output, -1 if nowhere
        self._repeated_from = -1  # where the last repetition began, -1 if there was none just now

    def translate(self) -> str:
        while self._at < len(self._text):
            self._step(self._text[self._at])
        if self._outer:
            raise PatternError("missing closing )", self._text)
        for at, name in enumerate(self._names):
            if name in self._names[:at]:
                raise PatternError("duplicate capture group name", name)
        return "".join(self._out)

    def _step(self, char: str) -> None:
        if char in "*+?" or (char == "{" and _REPEAT.match(self._text, self._at)):
            self._repetition(char)
            return
        self._repeated_from = -1
        match char:
            case "(":
                self._open()
            case ")":
                self._close()
            case "|":
                self._emit("|", 1, repeatable=False)
            case "^":
                self._emit("(?m:^)" if self._modes.lines else r"(?:\A)", 1)
            case "$":
                self._emit("(?m:$)" if self._modes.lines else r"(?:\Z)", 1)
            case ".":
                self._emit("(?s:.)" if self._modes.dots else r"[^\n]", 1)
            case "[":
                self._class()
            case "\\":
                self._escape()
            case _:
                self._emit(self._literal(char), 1)

    def _emit(self, text: str, length: int, *, repeatable: bool = True) -> None:
        self._last = len(self._out) if repeatable else -1
        self._out.append(text)
        self._at += length

    def _literal(self, char: str) -> str:
        escaped = re.escape(char)
        return f"(?i:{escaped})" if self._modes.fold and char.lower() != char.upper() else escaped

    # ------------------------------------------------------------ groups

    def _open(self) -> None:
        rest = self._text[self._at :]
        if not rest.startswith("(?"):
            self._begin("(", 1)
        elif rest.startswith(("(?P<", "(?<")):
            self._begin("(", self._name(rest))
        else:
            self._flags(rest)

    def _begin(self, text: str, length: int) -> None:
        self._outer.append((self._modes, len(self._out)))
        self._emit(text, length, repeatable=False)

    def _name(self, rest: str) -> int:
        """The length of the start of a named group."""
        found = _NAMED.match(rest)
        if found is None:
            end = rest.find(">")
            raise PatternError("invalid named capture", rest if end < 0 else rest[: end + 1])
        self._names.append(found.group(1))
        return found.end()

    def _flags(self, rest: str) -> None:
        found = _FLAGS.match(rest)
        if found is None:
            raise self._bad_flags(rest)
        modes = self._modes.changed(found.group(1), found.group(2) or "")
        if found.group(3) == ":":
            self._begin("(?:", found.end())
        else:
            self._at += found.end()  # what was repeatable before still is
        self._modes = modes

    def _bad_flags(self, rest: str) -> PatternError:
        at = 2
        while at < len(rest) and rest[at] in "imsU-":
            at += 1
        if at >= len(rest) and at > 2:
            return PatternError("missing closing )", self._text)
        return PatternError("invalid or unsupported Perl syntax", rest[: at + 1])

    def _close(self) -> None:
        if not self._outer:
            raise PatternError("unexpected )", self._text)
        self._modes, start = self._outer.pop()
        self._emit(")", 1)
        self._last = start

    # ------------------------------------------------------------ repetition

    def _repetition(self, char: str) -> None:
        start = self._at
        found = _REPEAT.match(self._text, start) if char == "{" else None
        operator = found.group() if found else char
        if found:
            self._check_count(found)
        end = start + len(operator)
        lazy = self._text.startswith("?", end)
        end += lazy
        if self._repeated_from >= 0:
            shown = self._text[self._repeated_from : end]
            raise PatternError("invalid nested repetition operator", shown)
        if self._last < 0:
            raise PatternError("missing argument to repetition operator", self._text[start:end])
        self._repeated_from = start
        # In a group of its own, so that it can be repeated again.
        self._out.insert(self._last, "(?:")
        self._out.append(operator + ("?" if lazy != self._modes.lazy else "") + ")")
        self._at = end

    def _check_count(self, found: re.Match[str]) -> None:
        low, comma, high = found.groups()
        most = int(high) if comma and high else int(low)
        if int(low) > MOST_REPEATS or most > MOST_REPEATS or most < int(low):
            raise PatternError("invalid repeat count", found.group())

    # ------------------------------------------------------------ escapes and classes

    def _escape(self) -> None:
        rest = self._text[self._at :]
        following = rest[1:2]
        if not following:
            raise PatternError("trailing backslash at end of expression", "")
        if following == "Q":
            literal = rest[2:].partition(r"\E")[0]
            closed = len(r"\E") if r"\E" in rest else 0
            for char in literal:
                self._emit(self._literal(char), 1)
            self._at += 2 + closed
            return
        if following in "AbBz":
            self._emit(_ANCHORS[following], 2)
            return
        if (members := self._named_set()) is not None:
            self._emit(self._folded(f"[{members}]"), 0)
            return
        self._emit(self._literal(self._character()), 0)

    def _named_set(self) -> str | None:
        r"""The members of ``\d`` or ``\pL``, taken; None if there is no such thing here."""
        rest = self._text[self._at :]
        letter = rest[1:2]
        if letter.lower() in _PERL:
            self._at += 2
            members = _PERL[letter.lower()]
            return members if letter.islower() else _complement(members)
        if letter not in ("p", "P"):
            return None
        found = re.match(r"\\[pP](?:\{(\^?)([A-Za-z_]+)\}|([A-Za-z]))", rest)
        name = (found.group(2) or found.group(3)) if found else ""
        if found is None or name not in _CATEGORIES | {"Any"}:
            shown = found.group() if found else rest[:2]
            raise PatternError("invalid character class range", shown)
        self._at += found.end()
        negated = (letter == "P") != bool(found.group(1))
        return _category(name, negated=negated)

    def _character(self) -> str:
        """One escaped character, taken."""
        rest = self._text[self._at :]
        found = re.match(
            r"\\(?:([1-7][0-7]{1,2}|0[0-7]{0,2})|x([0-9A-Fa-f]{2})|x\{([0-9A-Fa-f]+)\}|([afnrtv])|([^0-9A-Za-z\x80-\U0010ffff]))",
            rest,
        )
        if found is None:
            raise PatternError("invalid escape sequence", rest[:2])
        self._at += found.end()
        octal, short, long, control, literal = found.groups()
        if literal:
            return literal
        code = int(octal, 8) if octal else _CONTROL[control] if control else int(short or long, 16)
        if code > _HIGHEST:
            raise PatternError("invalid escape sequence", found.group())
        return chr(code)

    def _folded(self, text: str) -> str:
        return f"(?i:{text})" if self._modes.fold else text

    def _class(self) -> None:
        start = self._at
        self._at += 1
        negated = self._text.startswith("^", self._at)
        self._at += negated
        members: list[str] = []
        first = True
        while first or not self._text.startswith("]", self._at):
            if self._at >= len(self._text):
                raise PatternError("missing closing ]", self._text[start:])
            first = False
            members.append(self._member(start))
        self._emit(self._folded(f"[{'^' * negated}{''.join(members)}]"), 1)

    def _member(self, start: int) -> str:
        rest = self._text[self._at :]
        if posix := re.match(r"\[:(\^?)(.*?):\]", rest):
            if posix.group(2) not in _POSIX:
                raise PatternError("invalid character class range", posix.group())
            self._at += posix.end()
            members = _POSIX[posix.group(2)]
            return _complement(members) if posix.group(1) else members
        if rest.startswith("\\") and (named := self._named_set()) is not None:
            return named
        begun = self._at
        low = self._single(start)
        if not re.match(r"-[^\]]", self._text[self._at :]):
            return _member_escape(low)
        self._at += 1
        high = self._single(start)
        if high < low:
            shown = self._text[begun : self._at]
            raise PatternError("invalid character class range", shown)
        return f"{_member_escape(low)}-{_member_escape(high)}"

    def _single(self, start: int) -> str:
        if self._at >= len(self._text):
            raise PatternError("missing closing ]", self._text[start:])
        if self._text[self._at] == "\\":
            if self._at + 1 >= len(self._text):
                raise PatternError("trailing backslash at end of expression", "")
            return self._character()
        self._at += 1
        return self._text[self._at - 1]


def _member_escape(char: str) -> str:
    return f"\\U{ord(char):08x}" if not (char.isascii() and char.isalnum()) else char


@cache
def _complement(members: str) -> str:
    """The members of a class that are not in another, as a class can be negated only as a whole."""
    inside = re.compile(f"[{members}]")
    if inside.match(chr(_HIGHEST)):
        return _ranges([code for code in range(_HIGHEST + 1) if not inside.match(chr(code))])
    ascii_rest = [code for code in range(128) if not inside.match(chr(code))]
    return _ranges(ascii_rest) + f"\\x80-\\U{_HIGHEST:08x}"


@cache
def _category(name: str, *, negated: bool) -> str:
    if name == "Any":
        return "" if negated else _ALL
    codes = [
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)).startswith(name) != negated
    ]
    return _ranges(codes)


def _ranges(codes: list[int]) -> str:
    parts: list[str] = []
    start = previous = -2
    for code in [*codes, -1]:
        if code == previous + 1:
            previous = code
            continue
        if start >= 0:
            parts.append(f"\\U{start:08x}-\\U{previous:08x}")
        start = previous = code
    return "".join(parts)
