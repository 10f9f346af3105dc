"""The syntax tree of a rule.

Two trees are equal if they mean the same: positions are not compared.  Operators are calls of
functions with the names that CEL gives them (``_+_``, ``!_``, ``_[_]``), so that the checker, the
estimator and the evaluator handle operators and calls alike.
"""

from dataclasses import dataclass
from dataclasses import field as attribute
from typing import Literal as OneOf
from typing import TypeAlias

AND, OR, NOT, CONDITIONAL = "_&&_", "_||_", "!_", "_?_:_"
INDEX, OPT_INDEX, OPT_SELECT, NEGATE, IN = "_[_]", "_[?_]", "_?._", "-_", "@in"
BINARY = {
    "==": "_==_",
    "!=": "_!=_",
    "<": "_<_",
    "<=": "_<=_",
    ">": "_>_",
    ">=": "_>=_",
    "in": IN,
    "+": "_+_",
    "-": "_-_",
    "*": "_*_",
    "/": "_/_",
    "%": "_%_",
}

LiteralKind = OneOf["null", "bool", "int", "uint", "double", "string", "bytes"]


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant.  ``kind`` distinguishes 1, 1u, 1.0 and true, which are equal in Python."""

    kind: LiteralKind
    value: bool | int | float | str | bytes | None
    pos: int = attribute(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Ident:
    """A name; it includes the leading dot if there is one."""

    name: str
    pos: int = attribute(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Select:
    """``operand.field``; with ``test`` it is ``has(operand.field)``."""

    operand: "Expr"
    field: str
    test: bool = False
    pos: int = attribute(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class CallExpr:
    """``function(args)`` or ``target.function(args)``.  ``&&`` and ``||`` have two or more args."""

    function: str
    args: tuple["Expr", ...]
    target: "Expr | None" = None
    pos: int = attribute(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class ListExpr:
    """``[a, ?b]``; ``optional`` has the indices of the elements that are optional."""

    elements: tuple["Expr", ...]
    optional: tuple[int, ...] = ()
    pos: int = attribute(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Entry:
    """One ``key: value`` entry of a map."""

    key: "Expr"
    value: "Expr"
    optional: bool = False


@dataclass(frozen=True, slots=True)
class MapExpr:
    """``{k: v, ?k: optional}``."""

    entries: tuple[Entry, ...]
    pos: int = attribute(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class StructExpr:
    """``Name{field: value, ?field: optional}``: only mutations of admission policies may build objects.

    ``optional`` has the indices of the fields that are optional, ``colons`` the positions of all.
    """

    name: str
    fields: tuple[tuple[str, "Expr"], ...]
    pos: int = attribute(default=0, compare=False)
    optional: tuple[int, ...] = ()
    colons: tuple[int, ...] = attribute(default=(), compare=False)


Loop = OneOf["all", "exists", "exists_one", "list", "map", "entries", "bind"]


@dataclass(frozen=True, slots=True)
class Comprehension:
    """A fold over a list or map, to which a macro is expanded.

    ``accu`` starts as ``init`` and becomes ``step`` for each element while ``condition`` holds; the
    value is ``result``.  The checker and the estimator use these parts.  The evaluator runs the
    equivalent loop of the given ``kind`` on ``filter`` and ``body`` instead, which is faster.
    """

    kind: Loop
    range: "Expr"
    var: str
    var2: str
    accu: str
    init: "Expr"
    condition: "Expr"
    step: "Expr"
    result: "Expr"
    filter: "Expr | None"
    body: "Expr"
    pos: int = attribute(default=0, compare=False)


Expr: TypeAlias = (
    Literal | Ident | Select | CallExpr | ListExpr | MapExpr | StructExpr | Comprehension
)


def qualified_name(expr: Expr) -> str:
    """Return ``a.b.c`` as a name; ``""`` for any other expression."""
    match expr:
        case Ident(name=name):
            return name
        case Select(operand=operand, field=name, test=False):
            prefix = qualified_name(operand)
            return f"{prefix}.{name}" if prefix else ""
        case _:
            return ""


def children(expr: Expr) -> tuple[Expr, ...]:
    """Yield the parts of an expression, in the order in which they are written or expanded."""
    match expr:
        case Select(operand=operand):
            return (operand,)
        case CallExpr(args=args, target=target):
            return args if target is None else (target, *args)
        case ListExpr(elements=elements):
            return elements
        case MapExpr(entries=entries):
            return tuple(part for entry in entries for part in (entry.key, entry.value))
        case StructExpr(fields=fields):
            return tuple(value for _, value in fields)
        case Comprehension():
            return (expr.range, expr.init, expr.condition, expr.step, expr.result)
        case _:
            return ()
