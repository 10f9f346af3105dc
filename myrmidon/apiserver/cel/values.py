"""Values at run time, and their equality.

Most values are plain Python values: ``None``, ``bool``, ``int``, ``float``, ``str``, ``bytes``,
``list`` and ``dict``.  There are classes for unsigned integers, times, types, optionals and the
types of libraries.  Objects and maps with a schema are ``Mapped``: their fields and entries are
converted when they are accessed.

In Python ``True == 1``, in CEL not.  Values must therefore be compared with ``equal``, and searched
for with ``contains``.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.types import RUNTIME_NAMES

Value: TypeAlias = Any
Adapt: TypeAlias = Callable[[Any], Value]

NO_OVERLOAD = "no such overload"
FAILURES = (AttributeError, TypeError, ArithmeticError, ValueError, RecursionError)
"""What the Python code of an expression may raise; see ``evaluation_error``."""
_ABSENT: Any = object()


def evaluation_error(error: Exception) -> CelEvaluationError:
    """Return the error of CEL for an exception of the Python code of an expression.

    A value of a wrong type is a null that the schema allows, passed to a function that does not
    accept it.
    """
    if isinstance(error, (AttributeError, TypeError)):
        return CelEvaluationError(NO_OVERLOAD)
    if isinstance(error, RecursionError):
        return CelEvaluationError("evaluation went too deep")
    return CelEvaluationError(str(error) or type(error).__name__)


class Uint(int):
    """An unsigned integer.  It equals the signed integer, but has another type."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A point in time, in nanoseconds since 1970 (UTC).  The offset is used for printing only."""

    nanos: int
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A duration in nanoseconds."""

    nanos: int


@dataclass(frozen=True, slots=True)
class TypeValue:
    """The result of ``type(x)``."""

    name: str


@dataclass(frozen=True, slots=True)
class OptionalValue:
    """An optional: a value that may be absent."""

    value: Value = None
    present: bool = False


NONE = OptionalValue()


def some(value: Value) -> OptionalValue:
    """Return an optional with this value."""
    return OptionalValue(value, present=True)


class Opaque:
    """A value of a library type.  ``type_name`` is the name of the type in CEL."""

    __slots__ = ()
    type_name: ClassVar[str]

    def equals(self, other: Value) -> bool:
        """Whether the values are equal; raise for another type, as the real libraries do."""
        if type(other) is not type(self):
            raise CelEvaluationError(NO_OVERLOAD)
        return self.same(other)

    def same(self, other: Any) -> bool:
        """Whether two values of this type are equal."""
        raise NotImplementedError


class SetList(list[Value]):
    """A list of ``x-kubernetes-list-type: set``: its order is irrelevant, and ``+`` is a union."""

    __slots__ = ()

    def equals(self, other: list[Value]) -> bool:
        """Whether the other list has the same length, and only elements of this one."""
        return len(self) == len(other) and all(contains(self, item) for item in other)

    def plus(self, other: list[Value]) -> "SetList":
        """Return the union; the elements of this list come first."""
        return SetList([*self, *(item for item in other if not contains(self, item))])


class MapList(list[Value]):
    """A list of ``x-kubernetes-list-type: map``: its elements are identified by their keys."""

    __slots__ = ("keys",)

    def __init__(self, items: list[Value], keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys = keys

    def _key(self, item: Value) -> tuple[Any, ...]:
        raw = item.raw if isinstance(item, Mapped) else {}
        return tuple(raw.get(key) for key in self.keys)

    def equals(self, other: list[Value]) -> bool:
        """Whether the lists have the same keys, and equal elements for each of them."""
        if len(self) != len(other):
            return False
        mine = {self._key(item): item for item in self}
        return all((key := self._key(item)) in mine and equal(mine[key], item) for item in other)

    def plus(self, other: list[Value]) -> "MapList":
        """Return the union; elements of the other list replace those with the same keys."""
        items = {self._key(item): item for item in self}
        items.update((self._key(item), item) for item in other)
        return MapList(list(items.values()), self.keys)


class Mapped(Mapping[str, Value]):
    """A map or object with a schema; its values are adapted when they are accessed."""

    __slots__ = ("raw",)

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw

    def adapter(self, name: str) -> Adapt | None:
        """Return the adapter for the value of a key, None if the key is not in the schema."""
        raise NotImplementedError

    def lookup(self, key: str) -> tuple[str, Any]:
        """Return the name in the object for a key in CEL, and its raw value or None."""
        raise NotImplementedError

    def __getitem__(self, key: str) -> Value:
        name, raw = self.lookup(key)
        adapt = self.adapter(name) if raw is not None or name in self.raw else None
        if adapt is None:
            raise KeyError(key)
        return adapt(raw)

    def __len__(self) -> int:
        return len(self.raw)

    def equals(self, other: Value) -> bool:
        """Whether the entries are equal; fields that are not in the schema are compared as JSON."""
        if isinstance(other, Mapped) and self.raw == other.raw:
            return True  # the usual case in transition rules
        if not isinstance(other, Mapping):
            raise CelEvaluationError(NO_OVERLOAD)
        return len(self) == len(other) and all(self._agrees(name, other) for name in self.raw)

    def _agrees(self, name: str, other: Mapping[str, Value]) -> bool:
        if self.adapter(name) is None:
            if not isinstance(other, Mapped):
                raise CelEvaluationError(NO_OVERLOAD)
            return name not in other.raw or bool(self.raw[name] == other.raw[name])
        mine, yours = self.get(name, _ABSENT), other.get(name, _ABSENT)
        if mine is _ABSENT or yours is _ABSENT:
            return mine is yours
        return equal(mine, yours)


def kind_of(value: Value) -> str:
    """Return the kind of a value, as it is named in signatures."""
    found = _KINDS.get(type(value))
    if found is not None:
        return found
    if isinstance(value, list):
        return "list"
    if isinstance(value, Mapping):
        return "map"
    assert isinstance(value, Opaque), f"{value!r} is not a value of the language"
    return value.type_name


_KINDS: dict[type, str] = {
    type(None): "null",
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    Timestamp: "timestamp",
    Duration: "duration",
    TypeValue: "type",
    OptionalValue: "optional_type",
}


def runtime_type(value: Value) -> str:
    """Return the name of ``type(value)``."""
    kind = kind_of(value)
    return RUNTIME_NAMES.get(kind, kind)


_PLAIN = frozenset((int, str, bool, float, bytes, type(None), Timestamp, Duration, TypeValue))
_NUMBERS = frozenset((int, float, Uint))


def equal(left: Value, right: Value) -> bool:
    """Whether two values are equal.  Values of different kinds are not, except for numbers."""
    kind, other = type(left), type(right)
    if kind is other and kind in _PLAIN:
        return bool(left == right)
    if left is None or right is None:
        return left is right
    if kind in _NUMBERS:
        return other in _NUMBERS and bool(left == right)
    if isinstance(left, SetList | MapList):
        return isinstance(right, list) and left.equals(right)
    if isinstance(left, list):
        return isinstance(right, list) and _same_items(left, right)
    if isinstance(left, Mapped | Opaque):
        return left.equals(right)
    if isinstance(left, Mapping):
        return isinstance(right, Mapping) and _same_entries(left, right)
    if isinstance(left, OptionalValue) and isinstance(right, OptionalValue):
        if not (left.present and right.present):
            return left.present == right.present
        return equal(left.value, right.value)
    return False


def _same_items(left: list[Value], right: list[Value]) -> bool:
    return len(left) == len(right) and all(map(equal, left, right))


def _same_entries(left: Mapping[Value, Value], right: Mapping[Value, Value]) -> bool:
    if len(left) != len(right):
        return False
    return all(key in right and equal(value, right[key]) for key, value in entries(left))


def entries(container: Mapping[Value, Value]) -> Iterator[tuple[Value, Value]]:
    """Yield keys and values; raise for a field that is null, which has a key but no value."""
    for key in container:
        try:
            value = container[key]
        except KeyError:
            raise CelEvaluationError(f"no such key: {key}") from None
        yield key, value


def contains(items: list[Value], wanted: Value) -> bool:
    """Whether a list contains a value.  Equality decides, not identity: NaN is not in any list."""
    return any(equal(item, wanted) for item in items)
