"""The cost estimate of a rule, computed as the real server does.

The real server refuses a definition if a rule could cost too much, so a slightly different estimate
would accept definitions that it refuses.  The algorithm is therefore that of its estimator:

- The sizes of values come from the schema (``maxLength``, ``maxItems``, ...), along the path by
  which a value is reached, for example ``self.items.@items.name``.
- Names, fields and most calls cost one.  Traversing a string costs a tenth of its length.
- A fold multiplies the cost of its step by the number of elements.

Only the upper bound of costs is computed; sizes have both bounds.
"""

from dataclasses import dataclass, field

from myrmidon.apiserver.cel.ast import (
    AND,
    CONDITIONAL,
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
from myrmidon.apiserver.cel.call_costs import call_estimate
from myrmidon.apiserver.cel.checker import Checked
from myrmidon.apiserver.cel.macros import HIDDEN_ACCU
from myrmidon.apiserver.cel.schema_types import DeclaredType
from myrmidon.apiserver.cel.sizes import (
    MOST,
    NEW_LIST,
    NEW_MAP,
    ONE,
    UNKNOWN,
    EntrySize,
    Path,
    Size,
    SizeNode,
    capped,
)
from myrmidon.apiserver.cel.types import Type

_SCALARS = frozenset(("bool", "double", "duration", "int", "timestamp", "uint"))


@dataclass(slots=True)
class _Local:
    path: Path
    size: Size | None
    entries: EntrySize | None = None


@dataclass(slots=True)
class Estimator:
    """Estimates the cost of one rule."""

    checked: Checked
    declared: DeclaredType
    _paths: dict[int, Path] = field(default_factory=dict)
    _sizes: dict[int, Size] = field(default_factory=dict)
    _entries: dict[int, EntrySize] = field(default_factory=dict)
    _locals: dict[str, list[_Local]] = field(default_factory=dict)

    def cost(self, expr: Expr) -> int:
        """Return the highest possible cost of an expression, and record sizes and paths."""
        match expr:
            case Literal():
                return 0
            case Ident(name=name):
                local = self._local(name)
                self._paths[id(expr)] = local.path if local else (name,)
                return 1
            case Select():
                return self._select(expr)
            case CallExpr():
                return self._call(expr)
            case ListExpr():
                return self._list(expr)
            case MapExpr():
                return self._map(expr)
            case Comprehension():
                return self._bind(expr) if expr.kind == "bind" else self._fold(expr)
            case StructExpr():
                return 0

    # ------------------------------------------------------------ sizes

    def _local(self, name: str) -> _Local | None:
        stack = self._locals.get(name)
        return stack[-1] if stack else None

    def _path(self, expr: Expr) -> Path:
        if isinstance(expr, Ident) and (local := self._local(expr.name)):
            return local.path
        return self._paths.get(id(expr), ())

    def size(self, expr: Expr) -> Size | None:
        """Return how large the value of an expression can be, None if that is unknown."""
        if (known := self._sizes.get(id(expr))) is not None:
            return known
        if (written := _written_size(expr)) is not None:
            return written
        if (declared := self.size_at(self._path(expr))) is not None:
            self._sizes[id(expr)] = declared
            return declared
        if _is_scalar(self.checked.type_of(expr)):
            return ONE
        local = self._local(expr.name) if isinstance(expr, Ident) else None
        return local.size if local else None

    def size_or_unknown(self, expr: Expr) -> Size:
        """Return how large the value of an expression can be; unbounded if that is unknown."""
        return self.size(expr) or UNKNOWN

    def size_at(self, path: Path) -> Size | None:
        """Return the size that the schema gives for a path, which starts with a variable."""
        if not path:
            return None
        node: DeclaredType | None = self.declared
        for step in path[1:]:
            if node is None:
                return None
            if step in ("@items", "@values"):
                node = node.element
            elif step == "@keys":
                node = node.key
            else:
                node = node.fields.get(step)
        return None if node is None else Size(0, node.max_elements)

    def _entry_size(self, expr: Expr) -> EntrySize | None:
        if (known := self._entries.get(id(expr))) is not None:
            return known
        local = self._local(expr.name) if isinstance(expr, Ident) else None
        return local.entries if local else None

    def _note(self, expr: Expr, size: Size | None, entries: EntrySize | None = None) -> None:
        if size is not None:
            self._sizes[id(expr)] = size
        if entries is not None:
            self._entries[id(expr)] = entries

    # ------------------------------------------------------------ fields and collections

    def _select(self, select: Select) -> int:
        if (name := self.checked.names.get(id(select))) is not None:
            self._paths[id(select)] = (name,)
            return 1
        cost = self.cost(select.operand)
        if select.test:
            return cost
        if self.checked.type_of(select.operand).kind in ("map", "struct"):
            cost += 1
        self._paths[id(select)] = (*self._path(select.operand), select.field)
        return cost

    def _list(self, expr: ListExpr) -> int:
        cost = NEW_LIST
        item = Size(MOST, 0) if expr.elements else Size(0, 0)
        for element in expr.elements:
            cost += self.cost(element)
            item = item.union(self.size_or_unknown(element))
        self._note(expr, None, EntrySize("list", ONE, item))
        return capped(cost)

    def _map(self, expr: MapExpr) -> int:
        cost = NEW_MAP
        key = value = Size(MOST, 0) if expr.entries else Size(0, 0)
        for entry in expr.entries:
            cost += self.cost(entry.key) + self.cost(entry.value)
            key = key.union(self.size_or_unknown(entry.key))
            value = value.union(self.size_or_unknown(entry.value))
        self._note(expr, None, EntrySize("map", key, value))
        return capped(cost)

    # ------------------------------------------------------------ folds

    def _iteration(self, over: Expr, *, key: bool) -> _Local:
        entries = self._entry_size(over)
        kind = entries.kind if entries else self.checked.type_of(over).kind
        if key:
            step = "@indices" if kind == "list" else "@keys"
        else:
            step = "@items" if kind == "list" else "@values"
        size = None if entries is None else entries.key if key else entries.value
        return _Local((*self._path(over), step), size)

    def _variables(self, fold: Comprehension) -> dict[str, _Local]:
        if fold.var2:
            return {
                fold.var: self._iteration(fold.range, key=True),
                fold.var2: self._iteration(fold.range, key=False),
            }
        entries = self._entry_size(fold.range)
        kind = entries.kind if entries else self.checked.type_of(fold.range).kind
        return {fold.var: self._iteration(fold.range, key=kind != "list")}

    def _push(self, name: str, local: _Local) -> None:
        self._locals.setdefault(name, []).append(local)

    def _bound(self, expr: Expr) -> _Local:
        return _Local(self._path(expr), self.size(expr), self._entry_size(expr))

    def _fold(self, fold: Comprehension) -> int:
        cost = self.cost(fold.range) + self.cost(fold.init)
        self._push(fold.accu, self._bound(fold.init))
        variables = self._variables(fold)
        for name, local in variables.items():
            self._push(name, local)
        each = self.cost(fold.condition) + self.cost(fold.step)
        for name in variables:
            self._locals[name].pop()
        cost += self.cost(fold.result)
        self._locals[fold.accu].pop()
        rounds = self.size_or_unknown(fold.range)
        if isinstance(fold.init, Literal):
            self._note(fold, self.size(fold.init))
        else:
            self._note(fold, rounds, self._entry_size(fold.step))
        return capped(cost + capped(rounds.high * capped(each)))

    def _bind(self, fold: Comprehension) -> int:
        cost = self.cost(fold.range) + self.cost(fold.init)
        self._push(fold.accu, self._bound(fold.init))
        cost += self.cost(fold.result)
        self._note(fold, self.size(fold.result), self._entry_size(fold.result))
        self._locals[fold.accu].pop()
        return capped(cost)

    # ------------------------------------------------------------ calls

    def node(self, expr: Expr) -> SizeNode:
        """Return an argument as the estimates of functions need it."""
        path = self._path(expr)
        shown = () if path[:1] == (HIDDEN_ACCU,) else path
        return SizeNode(self.checked.type_of(expr), shown, self.size(expr), expr)

    def _call(self, call: CallExpr) -> int:
        if call.function == "dyn" and call.target is None:
            cost = self.cost(call.args[0])
            self._note(call, self.size(call.args[0]), self._entry_size(call.args[0]))
            return capped(cost + 1)
        costs = [self.cost(arg) for arg in call.args]
        if call.function in (AND, OR):
            self._note(call, self.size(call))
            return capped(sum(costs))
        target = None
        own = 0
        if call.target is not None and id(call) not in self.checked.namespaced:
            own = self.cost(call.target)
            target = self.node(call.target)
        if call.function == CONDITIONAL:
            return self._conditional(call, costs)
        return capped(own + sum(costs) + self._overloads(call, target))

    def _conditional(self, call: CallExpr, costs: list[int]) -> int:
        _, chosen, other = call.args
        entries = self._entry_size(chosen)
        size = self.size_or_unknown(chosen).union(self.size_or_unknown(other))
        joined = entries.union(self._entry_size(other)) if entries else None
        self._note(call, size, joined)
        return capped(costs[0] + max(costs[1:]))

    def _overloads(self, call: CallExpr, target: SizeNode | None) -> int:
        """Return the highest cost among the overloads that fit."""
        name = self.checked.namespaced.get(id(call), call.function)
        args = [self.node(arg) for arg in call.args]
        most = 0
        size: Size | None = None
        for overload in self.checked.overloads[id(call)]:
            estimate = call_estimate(self.size_at, name, overload.id, target, args)
            most = max(most, estimate.cost)
            if estimate.size is not None:
                size = estimate.size if size is None else size.union(estimate.size)
            if overload.id in ("index_list", "index_map"):
                entries = self._entry_size(call.args[0])
                size = entries.value if entries else None
                step = "@items" if overload.id == "index_list" else "@values"
                self._paths[id(call)] = (*self._path(call.args[0]), step)
            if size is None:
                size = self.size(call)
        entries = self._joined_entries(call)
        self._note(call, size, entries)
        return most

    def _joined_entries(self, call: CallExpr) -> EntrySize | None:
        if call.function != "_+_":
            return None
        first = self._entry_size(call.args[0])
        return first.union(self._entry_size(call.args[1])) if first else None


def _written_size(expr: Expr) -> Size | None:
    match expr:
        case Literal(value=str(text) | bytes(text)):
            return Size(len(text), len(text))
        case Literal():
            return ONE
        case ListExpr(elements=elements):
            return Size(len(elements), len(elements))
        case MapExpr(entries=entries):
            return Size(len(entries), len(entries))
        case _:
            return None


def _is_scalar(t: Type) -> bool:
    if t.name == "optional_type":
        return _is_scalar(t.params[0])
    return t.kind in _SCALARS


def estimate(checked: Checked, declared: DeclaredType) -> int:
    """Return the highest possible cost of one evaluation."""
    return Estimator(checked, declared).cost(checked.tree)
