"""Tokens one after the other, and what to say when it is not the one that was expected.

The strategy is that of the real server's generated parser.  It first tries to go on without the
offending token (*extraneous input*), then as if the expected one were there (*missing*), and else
says *mismatched input*, looks for a place to go on, and is silent until it understood a token.
"""

from collections.abc import Callable
from typing import NoReturn, TypeVar

from myrmidon.apiserver.cel.errors import Issue
from myrmidon.apiserver.cel.lexer import DISPLAY, Token

T = TypeVar("T")

LEVELS = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 3),
    **dict.fromkeys(("+", "-"), 4),
    **dict.fromkeys(("*", "/", "%"), 5),
}
LITERALS = frozenset(("true", "false", "null", "float", "int", "uint", "string", "bytes"))
STARTS = LITERALS | {"[", "{", "(", ".", "-", "!", "ident"}
CONTINUES = frozenset((*LEVELS, "?", ".", "["))


class GaveUpError(Exception):
    """The text cannot be read any further."""


def listed(kinds: frozenset[str]) -> str:
    """What was expected, in a message."""
    shown = [name for kind, name in DISPLAY.items() if kind in kinds]
    return shown[0] if len(shown) == 1 else "{" + ", ".join(shown) + "}"


class TokenReader:
    """The tokens of one rule and the complaints about them."""

    def __init__(self, tokens: list[Token], issues: list[Issue]) -> None:
        self._tokens = tokens
        self.issues = issues
        self._at = 0
        self._closers: list[str] = ["end"]  # what ends the surroundings, innermost last
        self.confused = False  # since the last complaint no token was understood

    @property
    def next(self) -> Token:
        """The token to be read."""
        return self._tokens[self._at]

    def after_next(self) -> str:
        """The kind of the token behind it."""
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)].kind

    def take(self) -> Token:
        """Read a token."""
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        self.confused = False
        return token

    def accept(self, kind: str) -> Token | None:
        """Read a token if it is of this kind."""
        return self.take() if self.next.kind == kind else None

    def within(self, closer: str, read: Callable[[], T]) -> T:
        """Read an expression that ends before a token of this kind."""
        self._closers.append(closer)
        try:
            return read()
        finally:
            self._closers.pop()

    def complain(self, message: str) -> None:
        """Note what is wrong with the next token, unless the last complaint is still unresolved."""
        if not self.confused:
            self.issues.append(Issue(self.next.pos, f"Syntax error: {message}"))
        self.confused = True

    def give_up(self, message: str) -> NoReturn:
        """Complain for the last time."""
        self.complain(message)
        raise GaveUpError

    def sync(self, expected: frozenset[str]) -> bool:
        """Whether one of these comes next, if need be after a token that is skipped.

        If not, the next token is one by which an enclosing expression could go on.
        """
        if self.next.kind in expected:
            return True
        shown = self.next.display()
        if self.next.kind != "end" and self.after_next() in expected:
            self.complain(f"extraneous input {shown} expecting {listed(expected)}")
            self.take()
            return True
        self.complain(f"mismatched input {shown} expecting {listed(expected)}")
        known = CONTINUES | {",", ":"} | set(self._closers)
        while self.next.kind not in known:
            self._at += 1
        return False

    def require(self, expected: frozenset[str]) -> None:
        """One of these must come next."""
        if not self.sync(expected):
            raise GaveUpError

    def expect(self, kind: str) -> None:
        """Read a token of this kind, which may be surrounded by a mistake."""
        if self.next.kind == kind:
            self.take()
        elif self.next.kind != "end" and self.after_next() == kind:
            self.sync(frozenset((kind,)))
            self.take()
        elif kind != "end" and self.next.kind in self._follow(kind):
            self.complain(f"missing {DISPLAY[kind]} at {self.next.display()}")
        else:
            self.give_up(f"mismatched input {self.next.display()} expecting {DISPLAY[kind]}")

    def _follow(self, kind: str) -> frozenset[str]:
        """What could come after a token of this kind, had it been there."""
        if kind == ":":
            return STARTS
        closer = self._closers[-1]
        return CONTINUES | ({closer} if closer == "end" else {closer, ","})
