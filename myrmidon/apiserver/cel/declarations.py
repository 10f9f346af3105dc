"""Declarations of functions: name, argument types, result type and implementation.

A signature is written as text, for example ``"indexOf(list(A), A) -> int"``.  The first argument of
a method is its target.  The order of overloads matters to the checker: the first that matches
decides the type of the result, and if others match with another result, the type is dynamic.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from myrmidon.apiserver.cel.types import Type, parse_type, split_types
from myrmidon.apiserver.cel.values import Value, entries, kind_of

Implementation = Callable[..., Value]


@dataclass(frozen=True, slots=True)
class Overload:
    """One overload of a function."""

    id: str
    name: str
    method: bool
    args: tuple[Type, ...]
    result: Type
    params: tuple[str, ...]
    run: Implementation

    def takes(self, values: tuple[Value, ...]) -> bool:
        """Whether the values fit the argument types, judging lists and maps by one element."""
        return len(values) == len(self.args) and all(map(_fits, self.args, values))


def _fits(wanted: Type, value: Value) -> bool:
    if wanted.kind in ("dyn", "param"):
        return True
    if kind_of(value) != (wanted.name if wanted.kind in ("opaque", "struct") else wanted.kind):
        return False
    if wanted.kind == "list":
        return not value or _fits(wanted.params[0], value[0])
    if wanted.kind == "map":
        first = next(entries(value), None)
        return first is None or all(map(_fits, wanted.params, first))
    return True


def function(overload_id: str, signature: str, run: Implementation) -> Overload:
    """Return an overload that is called by its name: ``size(x)``."""
    return _overload(overload_id, signature, run, method=False)


def method(overload_id: str, signature: str, run: Implementation) -> Overload:
    """Return an overload that is called on its first argument: ``x.size()``."""
    return _overload(overload_id, signature, run, method=True)


def _overload(overload_id: str, signature: str, run: Implementation, *, method: bool) -> Overload:
    head, _, result = signature.rpartition(" -> ")
    name, _, inner = head.removesuffix(")").partition("(")
    args = tuple(parse_type(part) for part in split_types(inner))
    answer = parse_type(result)
    params: dict[str, None] = {}
    for t in (*args, answer):
        _collect_params(t, params)
    return Overload(overload_id, name, method, args, answer, tuple(params), run)


def _collect_params(t: Type, found: dict[str, None]) -> None:
    if t.kind == "param":
        found[t.name] = None
    for inner in t.params:
        _collect_params(inner, found)


def by_name(overloads: Iterable[Overload]) -> dict[str, tuple[Overload, ...]]:
    """Return the overloads of each function, in the given order."""
    table: dict[str, list[Overload]] = {}
    for overload in overloads:
        table.setdefault(overload.name, []).append(overload)
    return {name: tuple(group) for name, group in table.items()}
