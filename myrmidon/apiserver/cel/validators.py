"""Checks of a rule that go beyond types: constant arguments and collections of mixed types."""

from collections.abc import Iterator

from myrmidon.apiserver.cel.ast import CallExpr, Expr, ListExpr, Literal, MapExpr, children
from myrmidon.apiserver.cel.checker import Checked
from myrmidon.apiserver.cel.errors import CelEvaluationError, Issue
from myrmidon.apiserver.cel.functions import FUNCTIONS
from myrmidon.apiserver.cel.functions.formatting import ACCEPTED, Clause, read_format
from myrmidon.apiserver.cel.types import RUNTIME_NAMES, Type, is_optional
from myrmidon.apiserver.golang.regex import PatternError, compile_pattern


def validate(checked: Checked) -> list[Issue]:
    """Return the errors of constant patterns, times and formats, and of mixed collections."""
    return list(_visit(checked, checked.tree, formatted=False))


def _visit(checked: Checked, expr: Expr, *, formatted: bool) -> Iterator[Issue]:
    if isinstance(expr, CallExpr):
        yield from _check_call(checked, expr)
        formatted = formatted or expr.function == "format"
    elif not formatted and isinstance(expr, ListExpr):
        yield from _check_list(checked, expr)
    elif not formatted and isinstance(expr, MapExpr):
        yield from _check_map(checked, expr)
    for inner in children(expr):
        yield from _visit(checked, inner, formatted=formatted)


def _check_call(checked: Checked, call: CallExpr) -> Iterator[Issue]:
    name = call.function
    first = call.args[0] if call.args else None
    if isinstance(first, Literal) and not _acceptable(name, first):
        yield Issue(first.pos, f"invalid {name} argument")
    if (
        name == "format"
        and isinstance(call.target, Literal)
        and call.target.kind == "string"
        and isinstance(first, ListExpr)
    ):
        yield from _check_format(checked, call, str(call.target.value), first)


def _acceptable(name: str, literal: Literal) -> bool:
    """Whether a constant is valid as the first argument of the function."""
    if name == "matches":
        # In `matches(text, pattern)` this checks the text, as the real server does.
        try:
            compile_pattern(str(literal.value))
        except PatternError:
            return False
    if name in ("duration", "timestamp"):
        run = next((o.run for o in FUNCTIONS[name] if o.args[0].kind == literal.kind), None)
        try:
            return run is not None and run(literal.value) is not None
        except CelEvaluationError:
            return False
    return True


def _mixed(expr: Expr, expected: Type, found: Type) -> Issue:
    return Issue(expr.pos, f"expected type '{expected}' but found '{found}'")


def _element_type(checked: Checked, expr: Expr, *, optional: bool) -> Type:
    found = checked.type_of(expr)
    return found.params[0] if optional and is_optional(found) else found


def _check_list(checked: Checked, expr: ListExpr) -> Iterator[Issue]:
    types = [
        _element_type(checked, item, optional=at in expr.optional)
        for at, item in enumerate(expr.elements)
    ]
    for item, found in zip(expr.elements, types, strict=True):
        if found != types[0]:
            yield _mixed(item, types[0], found)
            return


def _check_map(checked: Checked, expr: MapExpr) -> Iterator[Issue]:
    if not expr.entries:
        return
    first = expr.entries[0]
    key = checked.type_of(first.key)
    value = _element_type(checked, first.value, optional=first.optional)
    for entry in expr.entries:
        if (found := checked.type_of(entry.key)) != key:
            yield _mixed(entry.key, key, found)
        found = _element_type(checked, entry.value, optional=entry.optional)
        if found != value:
            yield _mixed(entry.value, value, found)


def _check_format(checked: Checked, call: CallExpr, text: str, args: ListExpr) -> Iterator[Issue]:
    used = 0
    try:
        for part in read_format(text, len(args.elements)):
            if isinstance(part, Clause):
                used += 1
                bad = _unaccepted_part(checked, part, args.elements[part.at])
                if bad is not None:
                    shown = checked.type_of(bad)
                    name = RUNTIME_NAMES.get(shown.name, shown.name)
                    complaint = ACCEPTED[part.letter][1]
                    yield Issue(bad.pos, f"error during formatting: {complaint}{name}")
                    return
    except CelEvaluationError as error:
        yield Issue(call.pos, str(error))
        return
    if used < len(args.elements):
        counts = f"(expected {used}, got {len(args.elements)})"
        yield Issue(call.pos, f"too many arguments supplied to string.format {counts}")


def _unaccepted_part(checked: Checked, clause: Clause, expr: Expr) -> Expr | None:
    """Return the part of an argument that its clause does not accept, or None."""
    kind = checked.type_of(expr).kind
    if kind != "dyn" and kind not in ACCEPTED[clause.letter][0]:
        return expr
    if clause.letter == "s" and isinstance(expr, ListExpr | MapExpr):
        inner = (_unaccepted_part(checked, clause, part) for part in children(expr))
        return next((bad for bad in inner if bad is not None), None)
    return None
