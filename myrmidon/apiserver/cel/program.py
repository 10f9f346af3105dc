"""Compile rules and message expressions against their schema, and run them.

The steps are: parse, expand macros, check types, validate constants, estimate the cost, compile to
closures.  Each step runs only if the ones before it found no error.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from myrmidon.apiserver.cel.adapters import Adapters
from myrmidon.apiserver.cel.ast import Expr, Ident, Literal, children
from myrmidon.apiserver.cel.checker import Checked, check
from myrmidon.apiserver.cel.cost import estimate
from myrmidon.apiserver.cel.errors import CelCompileError, Issue, render
from myrmidon.apiserver.cel.evaluator import (
    MISSING,
    OLD_SELF_SLOT,
    SELF_SLOT,
    Evaluator,
    InstantiationError,
)
from myrmidon.apiserver.cel.logic import Run
from myrmidon.apiserver.cel.macros import expand
from myrmidon.apiserver.cel.metering import COUNTED_FROM, Meter, MeteredEvaluator
from myrmidon.apiserver.cel.parser import TOO_DEEP, parse
from myrmidon.apiserver.cel.schema_types import LARGEST_REQUEST, DeclaredType, declare, structs
from myrmidon.apiserver.cel.types import BOOL, STRING, Type, optional_of
from myrmidon.apiserver.cel.validators import validate
from myrmidon.apiserver.cel.values import FAILURES, NONE, Adapt, Value, evaluation_error, some
from myrmidon.apiserver.schema_node import Schema

SELF, OLD_SELF = "self", "oldSelf"


@dataclass(frozen=True)
class Program:
    """A compiled expression that can be evaluated for any number of values."""

    text: str
    checked: Checked
    declared: DeclaredType
    optional_old_self: bool
    _adapt: Adapt
    _run: Run
    _frame_size: int
    _meter: Meter | None = None

    @cached_property
    def uses_old_self(self) -> bool:
        """Whether it uses ``oldSelf``: a transition rule, which applies to updates only."""
        return _mentions_old_self(self.checked.tree)

    @cached_property
    def max_cost(self) -> int:
        """The highest possible cost of one run, as the real server estimates it."""
        return estimate(self.checked, self.declared)

    @property
    def max_cardinality(self) -> int:
        """How many values of this schema can fit into one request."""
        return LARGEST_REQUEST // (self.declared.min_size + 1)

    @property
    def spent(self) -> int:
        """The cost of the last run; 0 for rules that are too cheap to be counted."""
        return 0 if self._meter is None else self._meter.spent

    def evaluate(self, self_value: Any, old_self: Any = MISSING) -> Value:
        """Return the value of the expression; raise ``CelEvaluationError`` if the evaluation fails.

        Without an ``old_self``, an optional ``oldSelf`` is empty, and the use of any other fails.
        """
        if self._meter is not None:
            self._meter.spent = 0
        frame: list[Value] = [None] * self._frame_size
        frame[SELF_SLOT] = self._adapt(self_value)
        if old_self is not MISSING:
            old = self._adapt(old_self)
            frame[OLD_SELF_SLOT] = some(old) if self.optional_old_self else old
        else:
            frame[OLD_SELF_SLOT] = NONE if self.optional_old_self else MISSING
        try:
            return self._run(frame)
        except FAILURES as error:
            raise evaluation_error(error) from None


def compile_rule(
    text: str, schema: Schema, *, resource: bool = False, optional_old_self: bool = False
) -> Program:
    """Compile a validation rule for values of a schema.

    ``resource`` is set for the root of a resource, whose rules can use its kind and name even if
    the schema does not declare them.  Raises ``CelCompileError`` with the message of the real
    server.
    """
    return _compile(
        text,
        schema,
        BOOL,
        resource=resource,
        optional_old_self=optional_old_self,
        words=("compilation failed: ", "program ", "cel expression must evaluate to a bool"),
    )


def compile_message(
    text: str, schema: Schema, *, resource: bool = False, optional_old_self: bool = False
) -> Program:
    """Compile the ``messageExpression`` of a rule."""
    return _compile(
        text,
        schema,
        STRING,
        resource=resource,
        optional_old_self=optional_old_self,
        words=(
            "messageExpression compilation failed: ",
            "messageExpression ",
            "messageExpression must evaluate to a string",
        ),
    )


def compile_expression(
    text: str, schema: Schema, *, resource: bool = False, optional_old_self: bool = False
) -> Program:
    """Compile an expression of any type."""
    return _compile(
        text,
        schema,
        None,
        resource=resource,
        optional_old_self=optional_old_self,
        words=("", "program ", ""),
    )


def _compile(
    text: str,
    schema: Schema,
    wanted: Type | None,
    *,
    resource: bool,
    optional_old_self: bool,
    words: tuple[str, str, str],
) -> Program:
    failed, instantiating, wrong_type = words
    declared = declare(schema, resource=resource)
    if declared is None:
        raise CelCompileError("failed to convert to declType for CEL validation rules")
    old = optional_of(declared.type) if optional_old_self else declared.type
    objects = structs(declared)
    try:
        checked, issues = _checked(text, {SELF: declared.type, OLD_SELF: old}, objects)
    except RecursionError:
        checked, issues = Checked(Literal("null", None)), [Issue(-1, TOO_DEEP)]
    if issues:
        raise CelCompileError(failed + render(text, issues))
    if wanted is not None and checked.type_of(checked.tree) != wanted:
        raise CelCompileError(wrong_type)
    slots = {SELF: SELF_SLOT, OLD_SELF: OLD_SELF_SLOT}
    evaluator, meter = Evaluator(checked, slots, objects), None
    try:
        run = evaluator.compile(checked.tree)
    except InstantiationError as error:
        raise CelCompileError(f"{instantiating}instantiation failed: {error}") from None
    if estimate(checked, declared) > COUNTED_FROM:
        evaluator = counting = MeteredEvaluator(checked, slots, objects)
        run, meter = counting.compile(checked.tree), counting.meter
    adapt = Adapters().of(schema, resource=resource)
    size = evaluator.frame_size
    return Program(text, checked, declared, optional_old_self, adapt, run, size, meter)


def _checked(
    text: str, variables: dict[str, Type], objects: dict[str, DeclaredType]
) -> tuple[Checked, list[Issue]]:
    """Parse, expand, check and validate the text; stop after the first step with errors."""
    tree, issues = parse(text)
    if tree is not None:
        tree = expand(tree, issues)
    if tree is None or issues:
        return Checked(Literal("null", None)), issues
    checked, issues = check(tree, variables, objects)
    return checked, issues or validate(checked)


def _mentions_old_self(expr: Expr) -> bool:
    if isinstance(expr, Ident) and expr.name.removeprefix(".") == OLD_SELF:
        return True
    return any(_mentions_old_self(inner) for inner in children(expr))
