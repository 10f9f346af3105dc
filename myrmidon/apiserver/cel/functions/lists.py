"""Functions for lists: Kubernetes library, lists extension, sets, and helpers of the macros."""

from collections.abc import Callable, Mapping
from functools import cmp_to_key, reduce
from itertools import pairwise
from typing import Any

from myrmidon.apiserver.cel.declarations import Overload, function, method
from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.functions.standard import OVERLOADS as STANDARD
from myrmidon.apiserver.cel.types import RUNTIME_NAMES
from myrmidon.apiserver.cel.values import (
    NO_OVERLOAD,
    Duration,
    Uint,
    Value,
    contains,
    entries,
    equal,
    kind_of,
    runtime_type,
)

_SUMMABLE: dict[str, Value] = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}
_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_ADD = {
    overload.args[0].kind: overload.run
    for overload in STANDARD
    if overload.name == "_+_" and overload.args[0] == overload.args[1]
}
_NUMBERS = frozenset(("int", "uint", "double"))


def _compare(left: Value, right: Value) -> int:
    kinds = {kind_of(left), kind_of(right)}
    if len(kinds) > 1 and not kinds <= _NUMBERS:
        raise CelEvaluationError(NO_OVERLOAD)
    if not kinds <= set(_COMPARABLE):
        raise CelEvaluationError(NO_OVERLOAD)
    return int(left > right) - int(left < right)


def _is_sorted(items: list[Value]) -> bool:
    return all(_compare(left, right) <= 0 for left, right in pairwise(items))


def _extreme(name: str, wanted: int) -> Callable[[list[Value]], Value]:
    def find(items: list[Value]) -> Value:
        if not items:
            raise CelEvaluationError(f"{name} called on empty list")
        return reduce(lambda best, item: item if _compare(item, best) == wanted else best, items)

    return find


def _summed(zero: Value) -> Callable[[list[Value]], Value]:
    def total(items: list[Value]) -> Value:
        return reduce(_added, items, zero)

    return total


def _added(left: Value, right: Value) -> Value:
    kind = kind_of(left)
    if kind != kind_of(right) or kind not in _ADD:
        raise CelEvaluationError(NO_OVERLOAD)
    return _ADD[kind](left, right)


def _index_of(items: list[Value], wanted: Value) -> int:
    return next((at for at, item in enumerate(items) if equal(item, wanted)), -1)


def _last_index_of(items: list[Value], wanted: Value) -> int:
    found = (at for at in reversed(range(len(items))) if equal(items[at], wanted))
    return next(found, -1)


def _kubernetes() -> list[Overload]:
    made = []
    for name in _COMPARABLE:
        made += [
            method(f"list_{name}_is_sorted_bool", f"isSorted(list({name})) -> bool", _is_sorted),
            method(f"list_{name}_max_{name}", f"max(list({name})) -> {name}", _extreme("max", 1)),
            method(f"list_{name}_min_{name}", f"min(list({name})) -> {name}", _extreme("min", -1)),
        ]
    for name, zero in _SUMMABLE.items():
        made.append(
            method(f"list_{name}_sum_{name}", f"sum(list({name})) -> {name}", _summed(zero))
        )
    return made


def _slice(items: list[Value], start: int, end: int) -> list[Value]:
    call = f"cannot slice({start}, {end}), "
    if start < 0 or end < 0:
        raise CelEvaluationError(f"{call}negative indexes not supported")
    if start > end:
        raise CelEvaluationError(f"{call}start index must be less than or equal to end index")
    if len(items) < end:
        raise CelEvaluationError(f"{call}list is length {len(items)}")
    return items[start:end]


def _flatten(items: Value, depth: int = 1) -> list[Value]:
    if not isinstance(items, list):
        raise CelEvaluationError(f"{NO_OVERLOAD}: {runtime_type(items)}.flatten()")
    if depth < 0:
        raise CelEvaluationError("level must be non-negative")
    flat: list[Value] = []
    for item in items:
        if isinstance(item, list) and depth > 0:
            flat.extend(_flatten(item, depth - 1))
        else:
            flat.append(item)
    return flat


def _distinct(items: list[Value]) -> list[Value]:
    kept: list[Value] = []
    for item in items:
        if not contains(kept, item):
            kept.append(item)
    return kept


def _sort_by(items: list[Value], keys: list[Value]) -> list[Value]:
    if not items:
        return items
    first = kind_of(keys[0])
    if first not in _COMPARABLE:
        raise CelEvaluationError("list elements must be comparable")
    if any(kind_of(key) != first for key in keys):
        raise CelEvaluationError("list elements must have the same type")

    def by_key(left: int, right: int) -> int:
        return _compare(keys[left], keys[right])

    order = sorted(range(len(items)), key=cmp_to_key(by_key))
    return [items[at] for at in order]


def _sort(items: list[Value]) -> list[Value]:
    return _sort_by(items, items)


def _sorts() -> list[Overload]:
    made = []
    for name in _COMPARABLE:
        word = RUNTIME_NAMES.get(name, name)
        made += [
            method(f"list_{word}_sort", f"sort(list({name})) -> list({name})", _sort),
            method(
                f"list_{word}_sortByAssociatedKeys",
                f"@sortByAssociatedKeys(list(T), list({name})) -> list(T)",
                _sort_by,
            ),
        ]
    return made


def _has_all(items: list[Value], wanted: list[Value]) -> bool:
    return all(contains(items, item) for item in wanted)


def _intersects(left: list[Value], right: list[Value]) -> bool:
    return any(contains(right, item) for item in left)


def insert_entry(target: dict[Any, Value], key: Value, value: Value) -> dict[Any, Value]:
    """Return the map with an additional entry; raise if the key exists."""
    if key in target:
        raise CelEvaluationError(f"insert failed: key {_shown(key)} already exists")
    return {**target, key: value}


def _shown(key: Value) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def insert_entries(target: dict[Any, Value], more: Mapping[Any, Value]) -> dict[Any, Value]:
    """Return the map with the entries of another one; raise if a key exists."""
    for key, value in entries(more):
        target = insert_entry(target, key, value)
    return target


KUBERNETES = (
    *_kubernetes(),
    method("list_a_index_of_int", "indexOf(list(A), A) -> int", _index_of),
    method("list_a_last_index_of_int", "lastIndexOf(list(A), A) -> int", _last_index_of),
)
SETS = (
    function("list_sets_contains_list", "sets.contains(list(T), list(T)) -> bool", _has_all),
    function(
        "list_sets_equivalent_list",
        "sets.equivalent(list(T), list(T)) -> bool",
        lambda a, b: _has_all(a, b) and _has_all(b, a),
    ),
    function("list_sets_intersects_list", "sets.intersects(list(T), list(T)) -> bool", _intersects),
)
EXTENSION = (
    function(
        "@mapInsert_map_key_value", "cel.@mapInsert(map(K, V), K, V) -> map(K, V)", insert_entry
    ),
    function(
        "@mapInsert_map_map", "cel.@mapInsert(map(K, V), map(K, V)) -> map(K, V)", insert_entries
    ),
    method("list_slice", "slice(list(T), int, int) -> list(T)", _slice),
    method("list_flatten", "flatten(list(list(T))) -> list(T)", _flatten),
    method("list_flatten_int", "flatten(list(dyn), int) -> list(dyn)", _flatten),
    *_sorts(),
    function("lists_range", "lists.range(int) -> list(int)", lambda n: list(range(n))),
    method("list_reverse", "reverse(list(T)) -> list(T)", lambda items: items[::-1]),
    method("list_distinct", "distinct(list(T)) -> list(T)", _distinct),
)
