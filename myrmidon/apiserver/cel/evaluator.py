"""Compile a checked tree into closures.

Each expression becomes a function of a frame, a list with one slot per variable.  The results of
the checker are used at this point, so that they cost nothing at run time: a call with a single
matching overload is bound to it, a field of an object gets the adapter of its schema, and constant
patterns are compiled.  Only calls with dynamic arguments choose their overload at run time
(``dispatch``).
"""

from collections.abc import Callable, Mapping
from typing import Any

from myrmidon.apiserver.cel.access import (
    find_field,
    find_index,
    get_field,
    get_index,
    has_field,
    no_such_key,
)
from myrmidon.apiserver.cel.adapters import Adapters
from myrmidon.apiserver.cel.ast import (
    AND,
    CONDITIONAL,
    IN,
    INDEX,
    OPT_INDEX,
    OPT_SELECT,
    OR,
    CallExpr,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    StructExpr,
)
from myrmidon.apiserver.cel.calling import applied, dispatch
from myrmidon.apiserver.cel.checker import TYPE_NAMES, Checked
from myrmidon.apiserver.cel.declarations import Implementation
from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.escaping import unescape
from myrmidon.apiserver.cel.functions.conversions import FOLDED
from myrmidon.apiserver.cel.functions.regex import PATTERN_FUNCTIONS
from myrmidon.apiserver.cel.logic import Run, choice, conjunction, disjunction, or_other, or_value
from myrmidon.apiserver.cel.loops import fold_loop
from myrmidon.apiserver.cel.schema_types import DeclaredType
from myrmidon.apiserver.cel.types import STRING
from myrmidon.apiserver.cel.values import (
    Mapped,
    OptionalValue,
    TypeValue,
    Uint,
    Value,
)
from myrmidon.apiserver.golang.regex import PatternError, compile_pattern

_UNSURE = frozenset(("dyn", "null", "error", "param"))
_UNGUARDED = frozenset(("_==_", "_!=_", "dyn", "type", "optional.of", "flatten"))


SELF_SLOT, OLD_SELF_SLOT = 0, 1
MISSING: Any = object()


class InstantiationError(Exception):
    """A constant in a well-typed rule is not valid, for example a malformed pattern."""


class Evaluator:
    """Compiles the expressions of one rule."""

    def __init__(
        self, checked: Checked, slots: dict[str, int], objects: dict[str, DeclaredType]
    ) -> None:
        self._checked = checked
        self._slots = dict(slots)
        self._objects = objects
        self._adapters = Adapters()
        self.frame_size = max(slots.values(), default=-1) + 1

    def compile(self, expr: Expr) -> Run:
        """Return the function that evaluates an expression."""
        match expr:
            case Literal():
                return _constant(_literal(expr))
            case Ident(name=name):
                return self._name(name)
            case Select():
                return self._select(expr)
            case CallExpr():
                return self._call(expr)
            case ListExpr():
                return self._list(expr)
            case MapExpr():
                return self._map(expr)
            case Comprehension():
                return self._fold(expr)
            case StructExpr():
                raise AssertionError("the checker refuses all struct expressions")

    # ------------------------------------------------------------ names and fields

    def _name(self, name: str) -> Run:
        name = name.removeprefix(".")
        slot = self._slots.get(name)
        if slot is None:
            if name in ("timestamp", "duration"):
                raise InstantiationError(f"reference to undefined type: {name}")
            assert name in TYPE_NAMES, f"the checker let {name} through"
            return _constant(TypeValue(name))
        if slot == OLD_SELF_SLOT:
            return _old_self
        return lambda frame: frame[slot]

    def _select(self, select: Select) -> Run:
        name = self._checked.names.get(id(select))
        if name is not None:
            return self._name(name)
        operand = self.compile(select.operand)
        field = select.field
        target = self._checked.type_of(select.operand)
        if target.kind == "struct" and target.name in self._objects:
            return self._typed_field(operand, self._objects[target.name], select)
        if select.test:
            return lambda frame: has_field(operand(frame), field)
        return lambda frame: get_field(operand(frame), field)

    def _typed_field(self, operand: Run, declared: DeclaredType, select: Select) -> Run:
        key = select.field
        name = unescape(key) or key
        found = declared.fields.get(key) or declared.fields[f"__{key}__"]
        adapt = self._adapters.of(found.schema)

        def has(frame: list[Value]) -> bool:
            container = operand(frame)
            if isinstance(container, Mapped):
                return container.raw.get(name) is not None
            return has_field(container, key)

        def get(frame: list[Value]) -> Value:
            container = operand(frame)
            if not isinstance(container, Mapped):
                return get_field(container, key)
            raw = container.raw.get(name)
            if raw is None:
                raise no_such_key(key)
            return adapt(raw)

        return has if select.test else get

    # ------------------------------------------------------------ collections

    def _list(self, expr: ListExpr) -> Run:
        if all(isinstance(item, Literal) for item in expr.elements) and not expr.optional:
            return _constant([_literal(i) for i in expr.elements if isinstance(i, Literal)])
        items = [self.compile(item) for item in expr.elements]
        if not expr.optional:
            return lambda frame: [item(frame) for item in items]
        marked = list(enumerate(items))

        def build(frame: list[Value]) -> Value:
            built: list[Value] = []
            for at, item in marked:
                value = item(frame)
                if at not in expr.optional:
                    built.append(value)
                elif is_present(value):
                    built.append(value.value)
            return built

        return build

    def _map(self, expr: MapExpr) -> Run:
        entries = [(self.compile(e.key), self.compile(e.value), e.optional) for e in expr.entries]

        def build(frame: list[Value]) -> Value:
            built: dict[Value, Value] = {}
            for key, value, optional in entries:
                name, item = key(frame), value(frame)
                if isinstance(name, list | Mapping):
                    raise CelEvaluationError("unsupported key type")
                if not optional:
                    built[name] = item
                elif is_present(item):
                    built[name] = item.value
            return built

        return build

    def _fold(self, fold: Comprehension) -> Run:
        over = self.compile(fold.range)
        names = [fold.accu] if fold.kind == "bind" else [n for n in (fold.var, fold.var2) if n]
        init = self.compile(fold.init)
        hidden = {name: self._slots.get(name) for name in names}
        slots = []
        for name in names:
            self._slots[name] = self.frame_size
            slots.append(self.frame_size)
            self.frame_size += 1
        body = self.compile(fold.body)
        keep = None if fold.filter is None else self.compile(fold.filter)
        for name, slot in hidden.items():
            del self._slots[name]
            if slot is not None:
                self._slots[name] = slot
        keep, body = self._rounds(fold.kind, keep, body)
        return fold_loop(fold.kind, init if fold.kind == "bind" else over, slots, keep, body)

    def _rounds(self, kind: str, keep: Run | None, body: Run) -> tuple[Run | None, Run]:  # noqa: ARG002 - MeteredEvaluator uses it
        return keep, body

    # ------------------------------------------------------------ calls

    def _call(self, call: CallExpr) -> Run:
        name = self._checked.namespaced.get(id(call), call.function.removeprefix("."))
        if call.target is not None and id(call) not in self._checked.namespaced:
            exprs: tuple[Expr, ...] = (call.target, *call.args)
        else:
            exprs = call.args
        if name in FOLDED and len(exprs) == 1 and self._is_constant(exprs[0]):
            return self._folded(call, name, exprs)
        if (special := self._special(name, exprs)) is not None:
            return special
        args = [self.compile(expr) for expr in exprs]
        return self._apply(call, name, exprs, args)

    def _apply(self, call: CallExpr, name: str, exprs: tuple[Expr, ...], args: list[Run]) -> Run:
        return applied(name, self._chosen(call, name, exprs), args)

    def _special(self, name: str, exprs: tuple[Expr, ...]) -> Run | None:
        if (lazy := self._lazy(name, exprs)) is not None:
            return lazy
        if name in PATTERN_FUNCTIONS and isinstance(exprs[1], Literal):
            return self._with_pattern(name, exprs)
        if name == IN:
            return self._in_constant(exprs)
        return None

    def _lazy(self, name: str, exprs: tuple[Expr, ...]) -> Run | None:
        if name in _LAZY:
            return _LAZY[name]([self.compile(expr) for expr in exprs])
        if name == OPT_SELECT:
            operand, field = self.compile(exprs[0]), exprs[1]
            assert isinstance(field, Literal)
            key = str(field.value)
            return lambda frame: find_field(operand(frame), key)
        return None

    def _with_pattern(self, name: str, exprs: tuple[Expr, ...]) -> Run | None:
        pattern = exprs[1]
        assert isinstance(pattern, Literal)
        try:
            matches = compile_pattern(str(pattern.value)).matches
        except PatternError as error:
            raise InstantiationError(str(error)) from None
        if name != "matches" or self._checked.type_of(exprs[0]) != STRING:
            return None
        text = self.compile(exprs[0])
        return lambda frame: matches(text(frame))

    def _in_constant(self, exprs: tuple[Expr, ...]) -> Run | None:
        """Return membership in a list of constant strings as a lookup in a set."""
        wanted, items = exprs
        if not isinstance(items, ListExpr) or self._checked.type_of(wanted) != STRING:
            return None
        values = [item.value for item in items.elements if isinstance(item, Literal)]
        if len(values) != len(items.elements) or not all(isinstance(v, str) for v in values):
            return None
        known = frozenset(values)
        find = self.compile(wanted)
        return lambda frame: find(frame) in known

    def _is_constant(self, expr: Expr) -> bool:
        match expr:
            case Literal():
                return True
            case ListExpr(elements=elements):
                return all(self._is_constant(item) for item in elements)
            case CallExpr(function=name, args=(inner,), target=None):
                return name in FOLDED | {"dyn"} and self._is_constant(inner)
            case _:
                return False

    def _folded(self, call: CallExpr, name: str, exprs: tuple[Expr, ...]) -> Run:
        given = self.compile(exprs[0])([])
        try:
            return _constant(self._chosen(call, name, exprs)(given))
        except CelEvaluationError as error:
            raise InstantiationError(str(error)) from None

    def _chosen(self, call: CallExpr, name: str, exprs: tuple[Expr, ...]) -> Implementation:
        overloads = self._checked.overloads[id(call)]
        sure = all(self._checked.type_of(expr).kind not in _UNSURE for expr in exprs)
        if len(overloads) == 1 and sure:
            return overloads[0].run
        if name in _UNGUARDED:
            return overloads[0].run
        return dispatch(name, overloads)


def is_present(value: Value) -> bool:
    """Whether an optional element is present."""
    if not isinstance(value, OptionalValue):
        raise CelEvaluationError(f"cannot initialize optional element from {value}")
    return value.present


def _literal(literal: Literal) -> Value:
    if literal.kind == "uint":
        assert isinstance(literal.value, int)
        return Uint(literal.value)
    return literal.value


def _old_self(frame: list[Value]) -> Value:
    value = frame[OLD_SELF_SLOT]
    if value is MISSING:
        raise CelEvaluationError("no such attribute(s): oldSelf")
    return value


def _constant(value: Value) -> Run:
    return lambda _: value


def _indexed(args: list[Run]) -> Run:
    container, key = args
    return lambda frame: get_index(container(frame), key(frame))


def _optionally_indexed(args: list[Run]) -> Run:
    container, key = args
    return lambda frame: find_index(container(frame), key(frame))


_LAZY: dict[str, Callable[[list[Run]], Run]] = {
    AND: conjunction,
    OR: disjunction,
    CONDITIONAL: choice,
    INDEX: _indexed,
    OPT_INDEX: _optionally_indexed,
    "or": or_other,
    "orValue": or_value,
}
