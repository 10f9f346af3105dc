"""Field names in CEL expressions, which must be identifiers and not reserved words.

``my-key`` is ``my__dash__key`` in an expression, and ``namespace`` is ``__namespace__``.  A field whose
name cannot be escaped is not accessible in expressions.
"""

import re

KEYWORDS = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"),
        *("function", "if", "import", "let", "loop", "package", "namespace", "return"),
        *("var", "void", "while"),
    )
)
ESCAPES = {"__": "underscores", ".": "dot", "-": "dash", "/": "slash"}
_SPECIAL = re.compile(r"__|[-./]")
_ALLOWED = re.compile(r"[a-zA-Z_./-][a-zA-Z0-9_./-]*")


def escape(name: str) -> str | None:
    """Return the name of a field in expressions, None if it cannot be escaped."""
    if name in KEYWORDS:
        return f"__{name}__"
    if not _ALLOWED.fullmatch(name):
        return None
    return _SPECIAL.sub(lambda found: f"__{ESCAPES[found.group()]}__", name)
