"""The lexer: from the text of a rule to tokens.

Text that is not a token is reported and skipped as by the lexer of the real server: the error shows
the text up to and including the first character that could not continue a token, and the lexer
continues after that character.
"""

import re
from typing import NamedTuple

from myrmidon.apiserver.cel.errors import Issue

# In the order in which the real parser lists expected tokens.
DISPLAY = {
    "[": "'['",
    "]": "']'",
    "{": "'{'",
    "}": "'}'",
    "(": "'('",
    ")": "')'",
    ".": "'.'",
    ",": "','",
    "-": "'-'",
    "!": "'!'",
    "?": "'?'",
    ":": "':'",
    "true": "'true'",
    "false": "'false'",
    "null": "'null'",
    "float": "NUM_FLOAT",
    "int": "NUM_INT",
    "uint": "NUM_UINT",
    "string": "STRING",
    "bytes": "BYTES",
    "ident": "IDENTIFIER",
    "escaped": "ESC_IDENTIFIER",
    "end": "<EOF>",
}
KEYWORDS = frozenset(("true", "false", "null", "in"))

_ESCAPE = (
    r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
)
_STRING = "|".join(
    (
        r"[rR]\"\"\"(?s:.*?)\"\"\"",
        r"[rR]'''(?s:.*?)'''",
        rf"\"\"\"(?:{_ESCAPE}|[^\\])*?\"\"\"",
        rf"'''(?:{_ESCAPE}|[^\\])*?'''",
        r"[rR]\"[^\"\n\r]*\"",
        r"[rR]'[^'\n\r]*'",
        rf"\"(?:{_ESCAPE}|[^\\\"\n\r])*\"",
        rf"'(?:{_ESCAPE}|[^\\'\n\r])*'",
    )
)
_TOKEN = re.compile(
    rf"""
      (?P<space>[\t\x20\r\n\f]+|//[^\n]*)
    | (?P<bytes>[bB](?:{_STRING}))
    | (?P<string>{_STRING})
    | (?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    | (?P<uint>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])
    | (?P<int>0x[0-9a-fA-F]+|[0-9]+)
    | (?P<ident>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<escaped>`[A-Za-z0-9_.\-/\x20]+`)
    | (?P<symbol>==|!=|<=|>=|&&|\|\||[\[\]{{}}().,\-!?:+*/%<>])
    """,
    re.VERBOSE,
)
_UNFINISHED = re.compile(
    rf"\"(?:{_ESCAPE}|[^\\\"\n\r])*(?:\\(?:[0-3][0-7]?|[xX][0-9a-fA-F]?|u[0-9a-fA-F]{{0,3}}|U[0-9a-fA-F]{{0,7}})?)?"
    rf"|'(?:{_ESCAPE}|[^\\'\n\r])*(?:\\(?:[0-3][0-7]?|[xX][0-9a-fA-F]?|u[0-9a-fA-F]{{0,3}}|U[0-9a-fA-F]{{0,7}})?)?"
    r"|`[A-Za-z0-9_.\-/ ]*|[=&|]"
)


class Token(NamedTuple):
    """A token.  ``kind`` is the symbol or keyword itself, or a class of tokens such as ``int``."""

    kind: str
    text: str
    pos: int

    def display(self) -> str:
        """Return the token as error messages show it."""
        text = self.text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
        return f"'{text}'"


def tokenize(text: str) -> tuple[list[Token], list[Issue]]:
    """Return the tokens, the last one of kind ``end``, and an error for each skipped text."""
    tokens: list[Token] = []
    issues: list[Issue] = []
    pos = 0
    while pos < len(text):
        found = _TOKEN.match(text, pos)
        if found is None:
            stuck = _UNFINISHED.match(text, pos)
            end = min(stuck.end() if stuck else pos, len(text) - 1) + 1
            shown = f"'{text[pos:end]}'"
            issues.append(Issue(pos, f"Syntax error: token recognition error at: {shown}"))
            pos = end
            continue
        kind = str(found.lastgroup)
        if kind != "space":
            word = found.group()
            named = kind == "symbol" or (kind == "ident" and word in KEYWORDS)
            tokens.append(Token(word if named else kind, word, pos))
        pos = found.end()
    tokens.append(Token("end", "<EOF>", len(text)))
    return tokens, issues
