"""Read tokens with the error recovery of the real server's generated parser.

If the next token is not an expected one, the reader first tries to skip it (*extraneous input*),
then to continue as if the expected token were there (*missing*).  Otherwise it reports *mismatched
input* and skips tokens until an enclosing expression can continue.  After an error, no further one
is reported until a token was read successfully.
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
    """The parser cannot recover from an error."""


def listed(kinds: frozenset[str]) -> str:
    """Return the expected tokens as a message shows them."""
    shown = [name for kind, name in DISPLAY.items() if kind in kinds]
    return shown[0] if len(shown) == 1 else "{" + ", ".join(shown) + "}"


class TokenReader:
    """The tokens of one rule, and its syntax errors."""

    def __init__(self, tokens: list[Token], issues: list[Issue]) -> None:
        self._tokens = tokens
        self.issues = issues
        self._at = 0
        self._closers: list[str] = [
            "end"
        ]  # the tokens that end the enclosing expressions, innermost last
        self.confused = False  # no token was read since the last error

    @property
    def next(self) -> Token:
        """The next token, which is not read yet."""
        return self._tokens[self._at]

    def after_next(self) -> str:
        """Return the kind of the token after the next one."""
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)].kind

    def take(self) -> Token:
        """Read the next token."""
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        self.confused = False
        return token

    def accept(self, kind: str) -> Token | None:
        """Read the next token if it is of this kind; return None otherwise."""
        return self.take() if self.next.kind == kind else None

    def within(self, closer: str, read: Callable[[], T]) -> T:
        """Read an expression that ends before a token of the kind ``closer``."""
        self._closers.append(closer)
        try:
            return read()
        finally:
            self._closers.pop()

    def complain(self, message: str) -> None:
        """Report an error at the next token, unless the reader still recovers from the last one."""
        if not self.confused:
            self.issues.append(Issue(self.next.pos, f"Syntax error: {message}"))
        self.confused = True

    def give_up(self, message: str) -> NoReturn:
        """Report an error and stop parsing."""
        self.complain(message)
        raise GaveUpError

    def sync(self, expected: frozenset[str]) -> bool:
        """Whether an expected token comes next, possibly after one that is skipped.

        If not, the next token is one with which an enclosing expression could continue.
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
        """Stop parsing unless an expected token comes next."""
        if not self.sync(expected):
            raise GaveUpError

    def expect(self, kind: str) -> None:
        """Read a token of this kind; skip a token before it, or assume that it is missing."""
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
        """Return the kinds of tokens that can come after a token of this kind."""
        if kind == ":":
            return STARTS
        closer = self._closers[-1]
        return CONTINUES | ({closer} if closer == "end" else {closer, ","})
