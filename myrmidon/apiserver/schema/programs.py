"""Where rules meet the interpreter of their language.

The interpreter is loaded with the first schema that has rules: most servers start without one, and
starting is measured in milliseconds.
"""

from importlib import import_module
from typing import Any, Protocol

from myrmidon.apiserver.schema.types import Schema


class Program(Protocol):
    """A compiled expression."""

    uses_old_self: bool

    def evaluate(self, self_value: Any, old_self: Any = None, /) -> Any:
        """The value of the expression."""
        ...


class CompileError(ValueError):
    """The expression makes no sense; the message is that of the real server."""


class EvaluationError(ValueError):
    """The expression went wrong for these values."""


def compile_program(text: str, schema: Schema, *, root: bool, optional_old: bool) -> Program:
    """Compile an expression about values of a schema; raises ``CompileError``."""
    cel = import_module("myrmidon.apiserver.cel")
    try:
        program: Program = cel.compile_rule(text, schema, root=root, optional_old_self=optional_old)
    except cel.CelError as error:
        raise CompileError(str(error)) from error
    return program


def evaluate(program: Program, value: Any, old: Any) -> Any:
    """Run an expression; raises ``EvaluationError``."""
    cel = import_module("myrmidon.apiserver.cel")
    try:
        return program.evaluate(value, old)
    except cel.CelError as error:
        raise EvaluationError(str(error)) from error
