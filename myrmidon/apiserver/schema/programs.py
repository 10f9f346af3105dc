"""Compile and run CEL expressions of a schema, with the package ``cel``.

``cel`` is imported when the first schema with rules is compiled: most servers never see one, and
the import would add to the start-up time of all of them.  Its exceptions are translated here, so
that other modules can catch them without importing it.
"""

from typing import TYPE_CHECKING, Any

from myrmidon.apiserver.schema_node import Schema

if TYPE_CHECKING:
    from myrmidon.apiserver.cel import Program


_UNTYPED = "failed to convert to declType for CEL validation rules"


class CompileError(ValueError):
    """The expression does not compile; the message is that of the real server."""


class UntypedError(CompileError):
    """The schema has no CEL type, because it does not say enough about its values."""


class EvaluationError(ValueError):
    """The evaluation of the expression failed for these values."""


class CostError(EvaluationError):
    """The evaluation of the expression exceeded its cost limit."""


def compile_program(
    text: str, schema: Schema, *, root: bool, optional_old: bool, message: bool = False
) -> "Program":
    """Compile a rule or, with ``message``, a messageExpression.  Raises ``CompileError``."""
    from myrmidon.apiserver import cel  # noqa: PLC0415 - see above

    compiler = cel.compile_message if message else cel.compile_rule
    try:
        return compiler(text, schema, resource=root, optional_old_self=optional_old)
    except cel.CelError as error:
        text = str(error)
        raise (UntypedError if text == _UNTYPED else CompileError)(text) from error


def evaluate(program: "Program", value: Any, old: Any) -> Any:
    """Run a program; ``old`` is None without an old value.  Raises ``EvaluationError``."""
    from myrmidon.apiserver import cel  # noqa: PLC0415 - see above

    try:
        return program.evaluate(value, cel.MISSING if old is None else old)
    except cel.CelCostError as error:
        raise CostError(str(error)) from error
    except cel.CelError as error:
        raise EvaluationError(str(error)) from error
