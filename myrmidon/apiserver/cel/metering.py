"""What a rule costs, counted while it runs.

The units are those of the estimate that is made of a definition: one for each name, field and call,
more for what grows with its arguments.  Counting slows a rule down, so only those that may become
expensive by their estimate are counted.
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
COUNTED_FROM = 10_000  # the estimate from which on a rule is counted

# What a round of a loop costs beside its body: the macros are folds over a hidden variable, which
# is looked at and combined with the body.
_ROUNDS = {"all": 3, "exists": 4, "list": 2 + NEW_LIST, "map": 3, "entries": 3}


class Meter:
    """Adds up one run."""

    def __init__(self) -> None:
        self.spent = 0

    def spend(self, cost: int) -> None:
        """Count; raises when it is too much."""
        self.spent += cost
        if self.spent > CALL_LIMIT:
            raise CelCostError("operation cancelled: actual cost limit exceeded")

    def metered(self, run: Run, cost: int) -> Run:
        """A function that costs the same each time."""
        if not cost:
            return run

        def counted(frame: list[Value]) -> Value:
            self.spend(cost)
            return run(frame)

        return counted


class MeteredEvaluator(Evaluator):
    """Makes a function that counts what it costs."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.meter = Meter()

    def compile(self, expr: Expr) -> Run:
        """The function of an expression, and of its cost."""
        return self.meter.metered(super().compile(expr), _own_cost(expr))

    def _fold(self, fold: Comprehension) -> Run:
        # After the last round the hidden variable is looked at once more.
        return self.meter.metered(super()._fold(fold), 0 if fold.kind == "bind" else 1)

    def _rounds(self, kind: str, keep: Run | None, body: Run) -> tuple[Run | None, Run]:
        return keep, self.meter.metered(body, _ROUNDS.get(kind, 0))

    def _special(self, name: str, exprs: tuple[Expr, ...]) -> Run | None:
        # Short cuts for constants would hide what their arguments cost.
        if name != CONDITIONAL:
            return self._lazy(name, exprs)
        condition, *branches = exprs
        return choice([self.compile(condition), *map(self._branch, branches)])

    def _branch(self, expr: Expr) -> Run:
        """A name or a field that is chosen costs one less than one that is used."""
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
    """What a call costs for these values: the estimate for sizes that are known."""
    fits = next((each for each in overloads if each.takes(values)), None)
    if fits is None:
        return 1  # it is about to fail
    nodes = [SizeNode(DYN, (), _size(value), _number(value)) for value in values]
    target = nodes.pop(0) if is_method else None
    return call_estimate(_unknown, name, fits.id, target, nodes).cost


def _unknown(_path: Path) -> Size:
    """Elements of arguments are not looked at."""
    return ONE


def _number(value: Value) -> Literal | None:
    """Some estimates depend on numbers: how long a range is."""
    return Literal("int", value) if type(value) is int else None


def _size(value: Value) -> Size:
    if isinstance(value, str | bytes | list | Mapping):
        return Size(len(value), len(value))
    return ONE
