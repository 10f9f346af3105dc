"""Docstrings below the fields of a class, which Python does not keep: they are read in the source."""

import ast
import inspect
import textwrap
from functools import cache
from tokenize import TokenError

from myrmidon.api.typed.model import Model


def field_docs(cls: type) -> dict[str, str]:
    """Return the docstring below each field of a class and its bases; ``{}`` if there is no source."""
    docs: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if issubclass(base, Model) and base is not Model:
            docs |= _own_docs(base)
    return docs


@cache  # finding a class in its source means to parse the whole file
def _own_docs(cls: type) -> dict[str, str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError, SyntaxError, TokenError):
        return {}  # made at run time
    body = tree.body[0]
    if not isinstance(body, ast.ClassDef) or body.name != cls.__name__:
        return {}
    docs: dict[str, str] = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                docs[name] = inspect.cleandoc(text)
            case _:
                pass
    return docs
