r"""Parse patterns in the syntax of Go's ``regexp``; refuse others with Go's error messages.

Go does not have lookaround, backreferences or possessive quantifiers.  ``$`` is the end of the
text, ``\d``, ``\w``, ``\s`` and ``\b`` are ASCII only, and a flag in the middle applies to the end
of its group.  Scripts (``\p{Greek}``), which Go supports, are refused.
"""

import re
from dataclasses import dataclass

from myrmidon.apiserver.golang.regex_syntax import CharSet, Choice, Edge, Node, Repeat, Sequence

MOST_REPEATS = 1000  # of one repetition, and of nested repetitions multiplied
_HEIGHT_MAX = 200  # Go's limit is 1000
_SIZE_MAX = 20_000  # instructions of the compiled pattern; Go allows millions

_EDGES = {"A": Edge.TEXT_START, "z": Edge.TEXT_END, "b": Edge.WORD, "B": Edge.NOT_WORD}
_POSIX = {
    "alnum": ("09", "AZ", "az"),
    "alpha": ("AZ", "az"),
    "ascii": ("\x00\x7f",),
    "blank": ("\t\t", "  "),
    "cntrl": ("\x00\x1f", "\x7f\x7f"),
    "digit": ("09",),
    "graph": ("!~",),
    "lower": ("az",),
    "print": (" ~",),
    "punct": ("!/", ":@", "[`", "{~"),
    "space": ("\t\r", "  "),
    "upper": ("AZ",),
    "word": ("09", "AZ", "__", "az"),
    "xdigit": ("09", "AF", "af"),
}
_PERL = {"d": ("09",), "w": ("09", "AZ", "__", "az"), "s": ("\t\n", "\f\r", "  ")}
_CONTROL = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_REPEAT = re.compile(r"\{([0-9]+)(,([0-9]*))?\}")
_FLAGS = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_PROPERTY = re.compile(r"\\[pP](?:\{(\^?)([A-Za-z_]+)\}|([A-Za-z]))")
_POSIX_CLASS = re.compile(r"\[:(\^?)(.*?):\]")
_ESCAPED = re.compile(
    r"\\(?:([1-7][0-7]{1,2}|0[0-7]{0,2})|x([0-9A-Fa-f]{2})|x\{([0-9A-Fa-f]{1,16})\}"
    r"|([afnrtv])|([^0-9A-Za-z\x80-\U0010ffff]))"
)
_NAMED = re.compile(r"\(\?P?<([A-Za-z0-9_]+)>")
_CATEGORIES = frozenset(
    (
        *("L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No"),
        *("P", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S", "Sm", "Sc", "Sk", "So"),
        *("Z", "Zs", "Zl", "Zp", "C", "Cc", "Cf"),
    )
)
_COUNTS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_HIGHEST = "\U0010ffff"
_DOT = CharSet((("\n", "\n"),), negated=True)
_DOT_ALL = CharSet((("\x00", _HIGHEST),))


class PatternError(ValueError):
    """Go would not compile the pattern; the message is Go's."""

    def __init__(self, problem: str, where: str) -> None:
        super().__init__(f"error parsing regexp: {problem}: `{where}`")


def parse(pattern: str) -> Node:
    """Return the syntax tree of a pattern; raise ``PatternError`` if Go would not compile it."""
    return _Parser(pattern).parse()


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


@dataclass(frozen=True, slots=True)
class _Item:
    """A node with the sizes that are limited."""

    node: Node
    size: int = 1
    height: int = 1
    times: int = 1  # counts of nested repetitions, multiplied


class _Group:
    """An open group: the alternatives so far, and the modes outside it."""

    def __init__(self, outside: _Modes) -> None:
        self.outside = outside
        self.choices: list[list[_Item]] = [[]]

    def close(self) -> _Item:
        items = [_join(choice) for choice in self.choices]
        if len(items) == 1:
            return items[0]
        return _joined(Choice(tuple(item.node for item in items)), items)


def _join(items: list[_Item]) -> _Item:
    if len(items) == 1:
        return items[0]
    return _joined(Sequence(tuple(item.node for item in items)), items)


def _joined(node: Node, items: list[_Item]) -> _Item:
    return _Item(
        node,
        1 + sum(item.size for item in items),
        1 + max((item.height for item in items), default=0),
        max((item.times for item in items), default=1),
    )


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._modes = _Modes()
        self._groups = [_Group(self._modes)]
        self._names: set[str] = set()
        self._size = 0
        self._repeated_from = -1  # start of the repetition just read, or -1

    def parse(self) -> Node:
        while self._at < len(self._text):
            self._step(self._text[self._at])
        if len(self._groups) > 1:
            raise PatternError("missing closing )", self._text)
        whole = self._groups[0].close()
        self._check(whole)
        return whole.node

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
                self._groups[-1].choices.append([])
                self._at += 1
            case "^":
                self._add(Edge.LINE_START if self._modes.lines else Edge.TEXT_START, 1)
            case "$":
                self._add(Edge.LINE_END if self._modes.lines else Edge.TEXT_END, 1)
            case ".":
                self._add(_DOT_ALL if self._modes.dots else _DOT, 1)
            case "[":
                self._class()
            case "\\":
                self._escape()
            case _:
                self._add(self._literal(char), 1)

    def _add(self, node: Node, length: int) -> None:
        self._groups[-1].choices[-1].append(_Item(node))
        self._at += length
        self._size += 1
        if self._size > _SIZE_MAX:
            raise PatternError("expression too large", self._text)

    def _check(self, item: _Item) -> _Item:
        if item.size > _SIZE_MAX:
            raise PatternError("expression too large", self._text)
        if item.height > _HEIGHT_MAX or len(self._groups) > _HEIGHT_MAX:
            raise PatternError("expression nests too deeply", self._text)
        return item

    def _literal(self, char: str) -> CharSet:
        return CharSet(((char, char),), fold=self._modes.fold)

    # ------------------------------------------------------------ groups

    def _open(self) -> None:
        text, at = self._text, self._at
        if not text.startswith("(?", at):
            self._begin(1)
        elif text.startswith(("(?P<", "(?<"), at):
            self._begin(self._name())
        else:
            self._flags()

    def _begin(self, length: int) -> None:
        self._groups.append(_Group(self._modes))
        self._at += length
        if len(self._groups) > _HEIGHT_MAX:
            raise PatternError("expression nests too deeply", self._text)

    def _name(self) -> int:
        """Return the length of the opening of a named group."""
        found = _NAMED.match(self._text, self._at)
        if found is None:
            end = self._text.find(">", self._at)
            shown = self._text[self._at :] if end < 0 else self._text[self._at : end + 1]
            raise PatternError("invalid named capture", shown)
        if found[1] in self._names:
            raise PatternError("duplicate capture group name", found[1])
        self._names.add(found[1])
        return len(found[0])

    def _flags(self) -> None:
        found = _FLAGS.match(self._text, self._at)
        if found is None:
            raise self._bad_flags(self._text[self._at :])
        modes = self._modes.changed(found.group(1), found.group(2) or "")
        if found.group(3) == ":":
            self._begin(len(found[0]))
        else:
            self._at = found.end()  # the previous item can still be repeated
        self._modes = modes

    def _bad_flags(self, rest: str) -> PatternError:
        at = 2
        while at < len(rest) and rest[at] in "imsU-":
            at += 1
        if at >= len(rest) and at > 2:
            return PatternError("missing closing )", self._text)
        return PatternError("invalid or unsupported Perl syntax", rest[: at + 1])

    def _close(self) -> None:
        if len(self._groups) == 1:
            raise PatternError("unexpected )", self._text)
        group = self._groups.pop()
        self._modes = group.outside
        self._groups[-1].choices[-1].append(self._check(group.close()))
        self._at += 1

    # ------------------------------------------------------------ repetition

    def _repetition(self, char: str) -> None:
        start = self._at
        found = _REPEAT.match(self._text, start) if char == "{" else None
        end = found.end() if found else start + 1
        low, high = self._count(found) if found else _COUNTS[char]
        lazy = self._text.startswith("?", end)
        end += lazy
        if self._repeated_from >= 0:
            shown = self._text[self._repeated_from : end]
            raise PatternError("invalid nested repetition operator", shown)
        items = self._groups[-1].choices[-1]
        if not items:
            raise PatternError("missing argument to repetition operator", self._text[start:end])
        item = items.pop()
        most = low if high is None else high
        times = item.times * max(most, 1) if found else item.times
        if times > MOST_REPEATS:
            raise PatternError("invalid repeat count", self._text[start:end])
        node = Repeat(item.node, low, high, lazy != self._modes.lazy)
        size = item.size * max(most, 1) + 1
        items.append(self._check(_Item(node, size, item.height + 1, times)))
        self._repeated_from = start
        self._at = end

    def _count(self, found: re.Match[str]) -> tuple[int, int | None]:
        low, comma, high = found.groups()
        if len(low) > 4 or len(high or "") > 4:
            raise PatternError("invalid repeat count", found.group())
        most = int(high) if comma and high else int(low)
        if int(low) > MOST_REPEATS or most > MOST_REPEATS or most < int(low):
            raise PatternError("invalid repeat count", found.group())
        return int(low), None if comma and not high else most

    # ------------------------------------------------------------ escapes and classes

    def _escape(self) -> None:
        following = self._text[self._at + 1 : self._at + 2]
        if not following:
            raise PatternError("trailing backslash at end of expression", "")
        if following == "Q":
            end = self._text.find(r"\E", self._at + 2)
            literal = self._text[self._at + 2 : end if end >= 0 else None]
            for char in literal:
                self._add(self._literal(char), 1)
            self._at += 2 + (2 if end >= 0 else 0)
            return
        if following in _EDGES:
            self._add(_EDGES[following], 2)
            return
        if (members := self._named_set()) is not None:
            self._add(members, 0)
            return
        self._add(self._literal(self._character()), 0)

    def _named_set(self) -> CharSet | None:
        r"""Consume an escape such as ``\d`` or ``\pL``; return its set, None if there is none."""
        letter = self._text[self._at + 1 : self._at + 2]
        fold = self._modes.fold
        if letter and letter in "dwsDWS":
            self._at += 2
            return CharSet(_ranges(_PERL[letter.lower()]), negated=letter.isupper(), fold=fold)
        if letter not in ("p", "P"):
            return None
        found = _PROPERTY.match(self._text, self._at)
        name = (found.group(2) or found.group(3)) if found else ""
        if found is None or name not in _CATEGORIES | {"Any"}:
            shown = found.group() if found else self._text[self._at : self._at + 2]
            raise PatternError("invalid character class range", shown)
        self._at = found.end()
        negated = (letter == "P") != bool(found.group(1))
        if name == "Any":
            return CharSet(_DOT_ALL.ranges, negated=negated)
        return CharSet(category=name, negated=negated, fold=fold)

    def _character(self) -> str:
        """Consume one escaped character and return it."""
        found = _ESCAPED.match(self._text, self._at)
        if found is None:
            shown = self._text[self._at : self._at + 2]
            raise PatternError("invalid escape sequence", shown)
        self._at = found.end()
        octal, short, long, control, literal = found.groups()
        if literal:
            return literal
        code = int(octal, 8) if octal else _CONTROL[control] if control else int(short or long, 16)
        if code > ord(_HIGHEST):
            raise PatternError("invalid escape sequence", found.group())
        return chr(code)

    def _class(self) -> None:
        start = self._at
        self._at += 1
        negated = self._text.startswith("^", self._at)
        self._at += negated
        ranges: list[tuple[str, str]] = []
        inner: list[CharSet] = []
        first = True
        while first or not self._text.startswith("]", self._at):
            if self._at >= len(self._text):
                raise PatternError("missing closing ]", self._text[start:])
            first = False
            member = self._member(start)
            if isinstance(member, CharSet):
                inner.append(member)
            else:
                ranges.append(member)
            self._size += 1
            if self._size > _SIZE_MAX:
                raise PatternError("expression too large", self._text)
        fold = self._modes.fold
        self._add(CharSet(tuple(ranges), tuple(inner), negated=negated, fold=fold), 1)

    def _member(self, start: int) -> CharSet | tuple[str, str]:
        if posix := _POSIX_CLASS.match(self._text, self._at):
            if posix.group(2) not in _POSIX:
                raise PatternError("invalid character class range", posix.group())
            self._at = posix.end()
            ranges = _ranges(_POSIX[posix.group(2)])
            return CharSet(ranges, negated=bool(posix.group(1)), fold=self._modes.fold)
        if self._text.startswith("\\", self._at) and (named := self._named_set()) is not None:
            return named
        begun = self._at
        low = self._single(start)
        following = self._text[self._at : self._at + 2]
        if len(following) < 2 or following[0] != "-" or following[1] == "]":
            return low, low
        self._at += 1
        high = self._single(start)
        if high < low:
            shown = self._text[begun : self._at]
            raise PatternError("invalid character class range", shown)
        return low, high

    def _single(self, start: int) -> str:
        if self._at >= len(self._text):
            raise PatternError("missing closing ]", self._text[start:])
        if self._text[self._at] == "\\":
            if self._at + 1 >= len(self._text):
                raise PatternError("trailing backslash at end of expression", "")
            return self._character()
        self._at += 1
        return self._text[self._at - 1]


def _ranges(pairs: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((pair[0], pair[1]) for pair in pairs)
