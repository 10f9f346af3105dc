"""Escape field names in rules, which must be identifiers and not reserved words.

``my-key`` is ``my__dash__key`` in a rule, and ``namespace`` is ``__namespace__``.  A field whose
name cannot be escaped is not accessible in rules.
"""

import re

KEYWORDS = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"),
        *("function", "if", "import", "let", "loop", "package", "namespace", "return"),
        *("var", "void", "while"),
    )
)
_NAMES = {"__": "underscores", ".": "dot", "-": "dash", "/": "slash"}
_SPECIAL = re.compile(r"__|[-./]")
_ALLOWED = re.compile(r"[a-zA-Z_./-][a-zA-Z0-9_./-]*")
_ESCAPED = re.compile(r"__([^_]+)__")


def escape(name: str) -> str | None:
    """Return the name of a field in rules, None if it cannot be escaped."""
    if name in KEYWORDS:
        return f"__{name}__"
    if not _ALLOWED.fullmatch(name):
        return None
    return _SPECIAL.sub(lambda found: f"__{_NAMES[found.group()]}__", name)


def unescape(name: str) -> str | None:
    """Return the field name for a name in a rule, None if that is not a valid escaped name."""
    if "__" not in name:
        return name
    characters = {word: char for char, word in _NAMES.items()}
    wrong = False

    def replaced(found: re.Match[str]) -> str:
        nonlocal wrong
        word = found.group(1)
        if word in characters:
            return characters[word]
        wrong = wrong or word not in KEYWORDS or found.group() != name
        return word

    text = _ESCAPED.sub(replaced, name)
    return None if wrong else text
