"""Expand macros: calls that stand for folds (comprehensions).

The macros are those of the real server: ``has``, ``all``, ``exists``, ``exists_one``, ``map``,
``filter``, their variants with two variables (index or key, and value), ``transformList``,
``transformMap``, ``transformMapEntry``, ``optMap``, ``optFlatMap`` and ``sortBy``.  The real server
has neither ``cel.bind`` nor ``existsOne`` with one variable, so rules that use them are refused.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from myrmidon.apiserver.cel.ast import (
    AND,
    CONDITIONAL,
    NOT,
    OR,
    CallExpr,
    Comprehension,
    Entry,
    Expr,
    Ident,
    ListExpr,
    Literal,
    Loop,
    MapExpr,
    Select,
    StructExpr,
)
from myrmidon.apiserver.cel.errors import Issue

ACCU = "__result__"
HIDDEN_ACCU = "@result"
SORT_INPUT = "@__sortBy_input__"
MAP_INSERT = "cel.@mapInsert"
SORT_BY_KEYS = "@sortByAssociatedKeys"
GOES_ON = "@not_strictly_false"

_NOT_A_NAME = "argument must be a simple name"


class _BadMacroError(Exception):
    def __init__(self, pos: int, message: str) -> None:
        super().__init__(message)
        self.issue = Issue(pos, message)


@dataclass(frozen=True, slots=True)
class _Use:
    """One use of a macro.  All expressions made from it have the position of its parenthesis."""

    name: str
    target: Expr
    args: tuple[Expr, ...]
    pos: int

    def fold(
        self,
        kind: Loop,
        names: tuple[str, str],
        init: Expr,
        step: Expr,
        body: Expr,
        *,
        condition: Expr | None = None,
        result: Expr | None = None,
        filtered: Expr | None = None,
    ) -> Comprehension:
        """Return a fold over the target with the usual accumulator."""
        return Comprehension(
            kind,
            self.target,
            *names,
            accu=HIDDEN_ACCU,
            init=init,
            condition=condition or Literal("bool", True, self.pos),
            step=step,
            result=result or self.accu(),
            filter=filtered,
            body=body,
            pos=self.pos,
        )

    def accu(self) -> Expr:
        """Return a reference to the accumulator."""
        return Ident(HIDDEN_ACCU, self.pos)

    def call(self, function: str, *args: Expr) -> Expr:
        """Return a call of a global function."""
        return CallExpr(function, args, pos=self.pos)

    def only_if(self, filtered: Expr | None, step: Expr) -> Expr:
        """Return the step, which leaves the accumulator unchanged where the filter is false."""
        return step if filtered is None else self.call(CONDITIONAL, filtered, step, self.accu())


def expand(expr: Expr, issues: list[Issue]) -> Expr:
    """Return the tree with all macros expanded; add errors in their arguments to ``issues``."""
    match expr:
        case Literal() | Ident() | Comprehension():
            return expr
        case Select(operand=operand):
            return replace(expr, operand=expand(operand, issues))
        case ListExpr(elements=elements):
            return replace(expr, elements=tuple(expand(element, issues) for element in elements))
        case MapExpr(entries=entries):
            return replace(expr, entries=tuple(_expand_entry(entry, issues) for entry in entries))
        case StructExpr(fields=fields):
            return replace(expr, fields=tuple((f, expand(value, issues)) for f, value in fields))
        case CallExpr():
            return _expand_call(expr, issues)


def _expand_entry(entry: Entry, issues: list[Issue]) -> Entry:
    return Entry(expand(entry.key, issues), expand(entry.value, issues), entry.optional)


def _expand_call(call: CallExpr, issues: list[Issue]) -> Expr:
    target = None if call.target is None else expand(call.target, issues)
    args = tuple(expand(arg, issues) for arg in call.args)
    try:
        if target is None:
            if call.function == "has" and len(args) == 1:
                return _has(args[0], call.pos)
        elif macro := _MACROS.get((call.function, len(args))):
            return macro(_Use(call.function, target, args, call.pos))
    except _BadMacroError as bad:
        issues.append(bad.issue)
        return Literal("null", None, call.pos)
    return replace(call, target=target, args=args)


def _has(arg: Expr, pos: int) -> Expr:
    if not isinstance(arg, Select):
        raise _BadMacroError(arg.pos, "invalid argument to has() macro")
    return replace(arg, test=True, pos=pos)


def _variable(arg: Expr, complaint: str) -> str:
    if not isinstance(arg, Ident):
        raise _BadMacroError(arg.pos, complaint)
    if arg.name in (ACCU, HIDDEN_ACCU):
        raise _BadMacroError(arg.pos, "iteration variable overwrites accumulator variable")
    return arg.name


def _variables(use: _Use, count: int, complaint: str = _NOT_A_NAME) -> tuple[str, str]:
    first = _variable(use.args[0], complaint)
    if count == 1:
        return first, ""
    second = _variable(use.args[1], complaint)
    if first == second:
        raise _BadMacroError(use.args[1].pos, f"duplicate variable name: {first}")
    return first, second


def _quantifier(use: _Use) -> Expr:
    names = _variables(use, len(use.args) - 1)
    predicate = use.args[-1]
    if use.name == "all":
        return use.fold(
            "all",
            names,
            Literal("bool", True, use.pos),
            use.call(AND, use.accu(), predicate),
            predicate,
            condition=use.call(GOES_ON, use.accu()),
        )
    if use.name == "exists":
        return use.fold(
            "exists",
            names,
            Literal("bool", False, use.pos),
            use.call(OR, use.accu(), predicate),
            predicate,
            condition=use.call(GOES_ON, use.call(NOT, use.accu())),
        )
    one = Literal("int", 1, use.pos)
    return use.fold(
        "exists_one",
        names,
        Literal("int", 0, use.pos),
        use.call(CONDITIONAL, predicate, use.call("_+_", use.accu(), one), use.accu()),
        predicate,
        result=use.call("_==_", use.accu(), one),
    )


def _to_list(use: _Use, names: tuple[str, str], filtered: Expr | None, body: Expr) -> Expr:
    step = use.call("_+_", use.accu(), ListExpr((body,), pos=use.pos))
    init = ListExpr((), pos=use.pos)
    return use.fold("list", names, init, use.only_if(filtered, step), body, filtered=filtered)


def _map(use: _Use) -> Expr:
    names = _variables(use, 1, "argument is not an identifier")
    return _to_list(use, names, use.args[1] if len(use.args) == 3 else None, use.args[-1])


def _filter(use: _Use) -> Expr:
    names = _variables(use, 1, "argument is not an identifier")
    return _to_list(use, names, use.args[1], use.args[0])


def _transform_list(use: _Use) -> Expr:
    names = _variables(use, 2)
    return _to_list(use, names, use.args[2] if len(use.args) == 4 else None, use.args[-1])


def _transform_map(use: _Use) -> Expr:
    names = _variables(use, 2)
    filtered = use.args[2] if len(use.args) == 4 else None
    body = use.args[-1]
    entries = use.name == "transformMapEntry"
    added = (body,) if entries else (Ident(names[0], use.pos), body)
    step = use.call(MAP_INSERT, use.accu(), *added)
    return use.fold(
        "entries" if entries else "map",
        names,
        MapExpr((), use.pos),
        use.only_if(filtered, step),
        body,
        filtered=filtered,
    )


def _bind(name: str, value: Expr, body: Expr, pos: int) -> Expr:
    """Return a fold that binds a name to a value: without elements, and the body is its result."""
    return Comprehension(
        "bind",
        ListExpr((), pos=pos),
        "#unused",
        "",
        accu=name,
        init=value,
        condition=Literal("bool", False, pos),
        step=Ident(name, pos),
        result=body,
        filter=None,
        body=body,
        pos=pos,
    )


def _opt_map(use: _Use) -> Expr:
    variable = use.args[0]
    if not isinstance(variable, Ident):
        complaint = f"{use.name}() variable name must be a simple identifier"
        raise _BadMacroError(variable.pos, complaint)
    value = CallExpr("value", (), use.target, use.pos)
    body = _bind(variable.name, value, use.args[1], use.pos)
    return use.call(
        CONDITIONAL,
        CallExpr("hasValue", (), use.target, use.pos),
        use.call("optional.of", body) if use.name == "optMap" else body,
        use.call("optional.none"),
    )


def _sort_by(use: _Use) -> Expr:
    if isinstance(use.target, Literal | MapExpr | StructExpr):
        complaint = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise _BadMacroError(use.target.pos, complaint)
    given = Ident(SORT_INPUT, use.pos)
    keys = _map(replace(use, name="map", target=given))
    return _bind(SORT_INPUT, use.target, CallExpr(SORT_BY_KEYS, (keys,), given, use.pos), use.pos)


_MACROS: dict[tuple[str, int], Callable[[_Use], Expr]] = {
    ("all", 2): _quantifier,
    ("all", 3): _quantifier,
    ("exists", 2): _quantifier,
    ("exists", 3): _quantifier,
    ("exists_one", 2): _quantifier,
    ("exists_one", 3): _quantifier,
    ("existsOne", 3): _quantifier,
    ("map", 2): _map,
    ("map", 3): _map,
    ("filter", 2): _filter,
    ("transformList", 3): _transform_list,
    ("transformList", 4): _transform_list,
    ("transformMap", 3): _transform_map,
    ("transformMap", 4): _transform_map,
    ("transformMapEntry", 3): _transform_map,
    ("transformMapEntry", 4): _transform_map,
    ("optMap", 2): _opt_map,
    ("optFlatMap", 2): _opt_map,
    ("sortBy", 2): _sort_by,
}
