"""The type checker: infers the types of all expressions, and reports those that do not fit.

The algorithm is that of the reference implementation, because the error messages depend on it.
Every expression gets a type.  A call is resolved among all overloads that match; with several, the
type of its result is dynamic unless they agree.  An expression with an error gets the type
``ERROR``, which is assignable to every type, so that the error is not reported again further up.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from myrmidon.api.values.cel_names import KEYWORDS
from myrmidon.apiserver.cel.ast import (
    AND,
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
    qualified_name,
)
from myrmidon.apiserver.cel.declarations import Overload
from myrmidon.apiserver.cel.errors import Issue
from myrmidon.apiserver.cel.functions import FUNCTIONS
from myrmidon.apiserver.cel.schema_types import DeclaredType
from myrmidon.apiserver.cel.types import (
    BOOL,
    DYN,
    ERROR,
    INT,
    NULL,
    Type,
    is_optional,
    list_of,
    map_of,
    optional_of,
    param,
    parse_type,
    type_of,
)
from myrmidon.apiserver.cel.unification import Bindings, assign, is_wild, most_general, substitute

TYPE_NAMES: dict[str, Type] = {
    name: type_of(parse_type(text))
    for name, text in {
        "bool": "bool",
        "bytes": "bytes",
        "double": "double",
        "google.protobuf.Duration": "duration",
        "int": "int",
        "list": "list(A)",
        "map": "map(A, B)",
        "null_type": "null",
        "string": "string",
        "google.protobuf.Timestamp": "timestamp",
        "uint": "uint",
        "net.IP": "net.IP",
        "net.CIDR": "net.CIDR",
        "optional_type": "optional_type(V)",
        # Known to the checker only: the evaluator refuses rules that use them.
        "timestamp": "timestamp",
        "duration": "duration",
    }.items()
} | {"type": type_of(Type("type", "type"))}


@dataclass(slots=True)
class Checked:
    """A tree, and the results of the checker for its expressions, by their id."""

    tree: Expr
    bindings: Bindings = field(default_factory=dict)
    types: dict[int, Type] = field(default_factory=dict)
    overloads: dict[int, tuple[Overload, ...]] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)  # selects that are qualified names
    namespaced: dict[int, str] = field(default_factory=dict)  # calls like optional.of(1)

    def type_of(self, expr: Expr) -> Type:
        """Return the type of an expression; dynamic if it cannot be inferred."""
        return substitute(self.bindings, self.types[id(expr)], free_to_dyn=True)


def check(
    tree: Expr, variables: Mapping[str, Type], objects: Mapping[str, DeclaredType]
) -> tuple[Checked, list[Issue]]:
    """Infer the type of every expression; return the result and the errors."""
    checker = Checker(tree, variables, objects)
    checker.check(tree)
    return checker.checked, checker.issues


class Checker:
    """Infers the types of one expression, and collects its errors."""

    functions: Mapping[str, tuple[Overload, ...]] = FUNCTIONS

    def __init__(
        self, tree: Expr, variables: Mapping[str, Type], objects: Mapping[str, DeclaredType]
    ) -> None:
        self.checked = Checked(tree)
        self.issues: list[Issue] = []
        self._scopes: list[Mapping[str, Type]] = [TYPE_NAMES, variables]
        self._objects = objects
        self._free = 0

    def check(self, expr: Expr) -> Type:
        """Return the type of an expression, and record it."""
        found = self._find(expr)
        self.checked.types[id(expr)] = found
        return found

    def _find(self, expr: Expr) -> Type:
        match expr:
            case Literal(kind=kind):
                return NULL if kind == "null" else parse_type(kind)
            case Ident():
                return self._ident(expr)
            case Select():
                return self._select(expr)
            case CallExpr():
                return self._call(expr)
            case ListExpr():
                return self._list(expr)
            case MapExpr():
                return self._map(expr)
            case StructExpr():
                return self._struct(expr)
            case Comprehension():
                return self._comprehension(expr)

    # ------------------------------------------------------------ errors and bindings

    def _complain(self, expr: Expr, message: str) -> Type:
        self.issues.append(Issue(expr.pos, message))
        return ERROR

    def _undeclared(self, expr: Expr, name: str) -> Type:
        return self._complain(expr, f"undeclared reference to '{name}' (in container '')")

    def _mismatch(self, expr: Expr, expected: Type, found: Type) -> Type:
        return self._complain(expr, f"expected type '{expected}' but found '{found}'")

    def _assign(self, given: tuple[Type, ...], wanted: tuple[Type, ...]) -> bool:
        bindings = assign(self.checked.bindings, given, wanted)
        if bindings is not None:
            self.checked.bindings = bindings
        return bindings is not None

    def _bound(self, t: Type) -> Type:
        return substitute(self.checked.bindings, t)

    def _new_param(self) -> Type:
        self._free += 1
        return param(f"_var{self._free - 1}")

    # ------------------------------------------------------------ names and fields

    def _lookup(self, name: str) -> Type | None:
        name = name.removeprefix(".")
        return next((scope[name] for scope in reversed(self._scopes) if name in scope), None)

    def _ident(self, ident: Ident) -> Type:
        found = self._lookup(ident.name)
        return self._undeclared(ident, ident.name) if found is None else found

    def _select(self, select: Select) -> Type:
        name = qualified_name(select)
        if name and (found := self._lookup(name)) is not None:
            self.checked.names[id(select)] = name.removeprefix(".")
            return found
        result = self._field(select, select.operand, select.field, optional=False)
        return BOOL if select.test else self._bound(result)

    def _optional_select(self, call: CallExpr) -> Type:
        operand, name = call.args
        assert isinstance(name, Literal)
        self.check(name)
        self.checked.overloads[id(call)] = FUNCTIONS[OPT_SELECT]
        return self._bound(self._field(call, operand, str(name.value), optional=True))

    def _field(self, expr: Expr, operand: Expr, name: str, *, optional: bool) -> Type:
        target = self._bound(self.check(operand))
        unwrapped = is_optional(target)
        if unwrapped:
            target = target.params[0]
        result = self._field_of(expr, target, name)
        return optional_of(result) if unwrapped or optional else result

    def _field_of(self, expr: Expr, target: Type, name: str) -> Type:
        if target.kind == "map":
            return target.params[1]
        if target.kind == "struct":
            if target.name not in self._objects:
                return self._complain(expr, f"unexpected failed resolution of '{target}'")
            fields = self._objects[target.name].fields
            found = fields.get(name)
            if found is None and name in KEYWORDS:
                found = fields.get(f"__{name}__")
            return found.type if found else self._complain(expr, f"undefined field '{name}'")
        if target.kind == "param":
            self._assign((DYN,), (target,))
        elif not is_wild(target):
            self._complain(expr, f"type '{target}' does not support field selection")
        return DYN

    # ------------------------------------------------------------ calls

    def _call(self, call: CallExpr) -> Type:
        if call.function == OPT_SELECT:
            return self._optional_select(call)
        args = tuple(self.check(arg) for arg in call.args)
        if call.target is None:
            return self._resolve(call, call.function.removeprefix("."), args, method=False)
        prefix = qualified_name(call.target)
        name = f"{prefix}.{call.function}".removeprefix(".")
        if prefix and name in self.functions:
            self.checked.namespaced[id(call)] = name
            return self._resolve(call, name, args, method=False)
        target = self.check(call.target)
        return self._resolve(call, call.function, (target, *args), method=True)

    def _resolve(self, call: CallExpr, name: str, args: tuple[Type, ...], *, method: bool) -> Type:
        if name not in self.functions:
            return self._undeclared(call, call.function if method else name)
        if name in (AND, OR):
            return self._logical(call, args)
        result: Type | None = None
        fitting: list[Overload] = []
        for overload in self.functions[name]:
            if overload.method != method:
                continue
            fresh = {letter: self._new_param() for letter in overload.params}
            wanted = tuple(substitute(fresh, arg) for arg in overload.args)
            if not self._assign(args, wanted):
                continue
            fitting.append(overload)
            answer = self._bound(substitute(fresh, overload.result))
            if result is None:
                result = answer
            elif answer != result:
                result = DYN
        if result is None:
            return self._no_overload(call, name, args, method=method)
        self.checked.overloads[id(call)] = tuple(fitting)
        return result

    def _no_overload(
        self, call: CallExpr, name: str, args: tuple[Type, ...], *, method: bool
    ) -> Type:
        known = self.checked.bindings
        shown = [str(substitute(known, arg, free_to_dyn=True)) for arg in args]
        signature = f"({', '.join(shown[method:])})"
        if method:
            signature = f"{shown[0]}.{signature}"
        return self._complain(
            call, f"found no matching overload for '{name}' applied to '{signature}'"
        )

    def _logical(self, call: CallExpr, args: tuple[Type, ...]) -> Type:
        self.checked.overloads[id(call)] = FUNCTIONS[call.function]
        result = BOOL
        for arg, found in zip(call.args, args, strict=True):
            if not self._assign((found,), (BOOL,)):
                result = self._mismatch(arg, BOOL, found)
        return result

    # ------------------------------------------------------------ collections

    def _unwrapped(self, expr: Expr, found: Type, *, optional: bool) -> Type:
        """Return the type of an element; the inner type if it is marked as optional."""
        if not optional:
            return found
        if is_optional(found):
            return found.params[0]
        if found.kind != "dyn":
            self._mismatch(expr, optional_of(found), found)
        return found

    def _joined(self, previous: Type | None, current: Type) -> Type:
        """Return the common type, ``dyn`` if there is none; mixed literals are refused later."""
        if previous is None:
            return current
        return most_general(previous, current) if self._assign((previous,), (current,)) else DYN

    def _list(self, expr: ListExpr) -> Type:
        element: Type | None = None
        for at, item in enumerate(expr.elements):
            found = self._unwrapped(item, self.check(item), optional=at in expr.optional)
            element = self._joined(element, found)
        return list_of(self._new_param() if element is None else element)

    def _map(self, expr: MapExpr) -> Type:
        key: Type | None = None
        value: Type | None = None
        for entry in expr.entries:
            key = self._joined(key, self.check(entry.key))
            found = self._unwrapped(entry.value, self.check(entry.value), optional=entry.optional)
            value = self._joined(value, found)
        if key is None or value is None:
            return map_of(self._new_param(), self._new_param())
        return map_of(key, value)

    def _struct(self, expr: StructExpr) -> Type:
        named = self._lookup(expr.name)
        if named is None:
            return self._undeclared(expr, expr.name)
        for _, value in expr.fields:
            self.check(value)
        if named.kind != "type":
            return self._complain(expr, f"'{named.name}' is not a type")
        return self._complain(expr, f"'{named.params[0].name}' is not a message type")

    # ------------------------------------------------------------ folds

    def _comprehension(self, fold: Comprehension) -> Type:
        over = self._bound(self.check(fold.range))
        accu = self.check(fold.init)
        first, second = self._variables(fold, over)
        self._scopes.append({fold.accu: accu})
        self._scopes.append({fold.var: first} | ({fold.var2: second} if fold.var2 else {}))
        for part, wanted in ((fold.condition, BOOL), (fold.step, accu)):
            found = self.check(part)
            if not self._assign((wanted,), (found,)):
                self._mismatch(part, wanted, found)
        self._scopes.pop()
        result = self._bound(self.check(fold.result))
        self._scopes.pop()
        return result

    def _variables(self, fold: Comprehension, over: Type) -> tuple[Type, Type]:
        if over.kind == "list":
            item = over.params[0]
            return (INT, item) if fold.var2 else (item, item)
        if over.kind == "map":
            return over.params[0], over.params[1]
        if over.kind == "param" or is_wild(over):
            self._assign((DYN,), (over,))
            return DYN, DYN
        self._complain(
            fold.range,
            f"expression of type '{over}' cannot be range of a comprehension "
            "(must be list, map, or dynamic)",
        )
        return ERROR, ERROR
