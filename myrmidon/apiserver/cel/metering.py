"""Count the cost of a rule while it runs.

The units are those of the estimate: one for each name, field and call, and more for calls whose
cost depends on the size of their arguments.  Counting makes a rule slower, so only rules with a
high estimate are counted (``COUNTED_FROM``).  A single run may cost ``CALL_LIMIT``; the budget for
all rules of an object is kept by ``schema.rules``.
"""

from collections.abc import Mapping
from typing import Any

from myrmidon.apiserver.cel.ast import (
    CONDITIONAL,
    INDEX,
    OPT_INDEX,
    OPT_SELECT,
    CallExpr,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
)
from myrmidon.apiserver.cel.call_costs import call_estimate, is_plain
from myrmidon.apiserver.cel.calling import applied
from myrmidon.apiserver.cel.declarations import Overload
from myrmidon.apiserver.cel.errors import CelCostError
from myrmidon.apiserver.cel.evaluator import Evaluator
from myrmidon.apiserver.cel.logic import Run, choice
from myrmidon.apiserver.cel.sizes import NEW_LIST, NEW_MAP, ONE, Path, Size, SizeNode
from myrmidon.apiserver.cel.types import DYN
from myrmidon.apiserver.cel.values import Value

CALL_LIMIT = 1_000_000
COUNTED_FROM = 10_000  # rules with a higher estimate are counted

# The cost of one iteration, without its body: a macro is a fold with a hidden accumulator, which
# is read and combined with the body.
_ROUNDS = {"all": 3, "exists": 4, "list": 2 + NEW_LIST, "map": 3, "entries": 3}


class Meter:
    """The cost of the current run."""

    def __init__(self) -> None:
        self.spent = 0

    def spend(self, cost: int) -> None:
        """Add a cost; raise ``CelCostError`` above the limit."""
        self.spent += cost
        if self.spent > CALL_LIMIT:
            raise CelCostError("operation cancelled: actual cost limit exceeded")

    def metered(self, run: Run, cost: int) -> Run:
        """Return the function with a constant cost added to each call."""
        if not cost:
            return run

        def counted(frame: list[Value]) -> Value:
            self.spend(cost)
            return run(frame)

        return counted


class MeteredEvaluator(Evaluator):
    """Compiles expressions into functions that count their cost."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.meter = Meter()

    def compile(self, expr: Expr) -> Run:
        """Return the function that evaluates an expression and counts its cost."""
        return self.meter.metered(super().compile(expr), _own_cost(expr))

    def _fold(self, fold: Comprehension) -> Run:
        # After the last iteration the hidden accumulator is read once more.
        return self.meter.metered(super()._fold(fold), 0 if fold.kind == "bind" else 1)

    def _rounds(self, kind: str, keep: Run | None, body: Run) -> tuple[Run | None, Run]:
        return keep, self.meter.metered(body, _ROUNDS.get(kind, 0))

    def _special(self, name: str, exprs: tuple[Expr, ...]) -> Run | None:
        # No shortcuts for constants: they would skip the cost of the arguments.
        if name != CONDITIONAL:
            return self._lazy(name, exprs)
        condition, *branches = exprs
        return choice([self.compile(condition), *map(self._branch, branches)])

    def _branch(self, expr: Expr) -> Run:
        """Compile a branch of ``?:``; a name, field or index as a branch costs one less."""
        is_plain = isinstance(expr, Ident | Select) or _is_index(expr)
        return super().compile(expr) if is_plain else self.compile(expr)

    def _apply(self, call: CallExpr, name: str, exprs: tuple[Expr, ...], args: list[Run]) -> Run:
        run, overloads = self._chosen(call, name, exprs), self._checked.overloads[id(call)]
        if all(is_plain(name, each.id) for each in overloads):
            return self.meter.metered(applied(name, run, args), 1)
        is_method = call.target is not None and id(call) not in self._checked.namespaced

        def counted(*values: Any) -> Value:
            self.meter.spend(_call_cost(name, overloads, values, is_method=is_method))
            return run(*values)

        return applied(name, counted, args)


def _own_cost(expr: Expr) -> int:
    match expr:
        case Ident() | Select():
            return 1
        case ListExpr(elements=elements):
            return 0 if all(isinstance(item, Literal) for item in elements) else NEW_LIST
        case MapExpr():
            return NEW_MAP
        case _:
            return 1 if _is_index(expr) else 0


def _is_index(expr: Expr) -> bool:
    return isinstance(expr, CallExpr) and expr.function in (INDEX, OPT_INDEX, OPT_SELECT)


def _call_cost(
    name: str, overloads: tuple[Overload, ...], values: tuple[Value, ...], *, is_method: bool
) -> int:
    """Return the cost of a call for these values: the estimate for their actual sizes."""
    fits = next((each for each in overloads if each.takes(values)), None)
    if fits is None:
        return 1  # the call will fail
    nodes = [SizeNode(DYN, (), _size(value), _number(value)) for value in values]
    target = nodes.pop(0) if is_method else None
    return call_estimate(_unknown, name, fits.id, target, nodes).cost


def _unknown(_path: Path) -> Size:
    """Return one as the size of elements: the arguments are not searched for their sizes."""
    return ONE


def _number(value: Value) -> Literal | None:
    """Return an integer as a literal, because the cost of a range depends on its value."""
    return Literal("int", value) if type(value) is int else None


def _size(value: Value) -> Size:
    if isinstance(value, str | bytes | list | Mapping):
        return Size(len(value), len(value))
    return ONE
