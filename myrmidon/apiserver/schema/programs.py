"""Where rules meet the interpreter of their language.

The interpreter is loaded with the first schema that has rules: most servers start without one, and
starting is measured in milliseconds.
"""

from typing import TYPE_CHECKING, Any

from myrmidon.apiserver.schema_node import Schema

if TYPE_CHECKING:
    from myrmidon.apiserver.cel import Program


_UNTYPED = "failed to convert to declType for CEL validation rules"


class CompileError(ValueError):
    """The expression makes no sense; the message is that of the real server."""


class UntypedError(CompileError):
    """The schema says too little about its values to have rules."""


class EvaluationError(ValueError):
    """The expression went wrong for these values."""


class CostError(EvaluationError):
    """The expression takes too long."""


def compile_program(
    text: str, schema: Schema, *, root: bool, optional_old: bool, message: bool = False
) -> "Program":
    """Compile a rule about values of a schema, or the message of one; raises ``CompileError``."""
    from myrmidon.apiserver import cel  # noqa: PLC0415 - see above

    compiler = cel.compile_message if message else cel.compile_rule
    try:
        return compiler(text, schema, resource=root, optional_old_self=optional_old)
    except cel.CelError as error:
        text = str(error)
        raise (UntypedError if text == _UNTYPED else CompileError)(text) from error


def evaluate(program: "Program", value: Any, old: Any) -> Any:
    """Run an expression; without an old value if that is None.  Raises ``EvaluationError``."""
    from myrmidon.apiserver import cel  # noqa: PLC0415 - see above

    try:
        return program.evaluate(value, cel.MISSING if old is None else old)
    except cel.CelCostError as error:
        raise CostError(str(error)) from error
    except cel.CelError as error:
        raise EvaluationError(str(error)) from error
