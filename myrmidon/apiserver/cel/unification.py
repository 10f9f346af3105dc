"""Assignability of types, and the inference of type parameters.

The rules are those of the reference checker, in the same order, because the order decides which
parameter is bound to which type and therefore the text of error messages.
"""

from myrmidon.apiserver.cel.types import DYN, Type

Bindings = dict[str, Type]

_SCALARS = frozenset(
    ("bool", "bytes", "double", "int", "string", "uint", "duration", "timestamp", "struct")
)
_NULLABLE = frozenset(("opaque", "struct", "duration", "timestamp"))
_NESTED = frozenset(("opaque", "list", "map"))


def assign(
    bindings: Bindings, given: tuple[Type, ...], wanted: tuple[Type, ...]
) -> Bindings | None:
    """Return bindings under which the given types are assignable to the wanted ones, or None."""
    attempt = dict(bindings)
    return attempt if _all_assignable(attempt, given, wanted) else None


def substitute(bindings: Bindings, t: Type, *, free_to_dyn: bool = False) -> Type:
    """Return the type with bound parameters replaced; free ones by ``dyn`` if ``free_to_dyn``."""
    if t.kind == "param":
        bound = bindings.get(t.name)
        if bound is not None:
            return substitute(bindings, bound, free_to_dyn=free_to_dyn)
        return DYN if free_to_dyn else t
    if not t.params:
        return t
    params = tuple(substitute(bindings, p, free_to_dyn=free_to_dyn) for p in t.params)
    return t if params == t.params else Type(t.kind, t.name, params)


def most_general(first: Type, second: Type) -> Type:
    """Return the less specific of two types of which one is assignable to the other."""
    return first if _equal_or_less_specific(first, second) else second


def is_wild(t: Type) -> bool:
    """Whether any type is assignable: it is dynamic, or an error was already reported for it."""
    return t.kind in ("dyn", "error")


def _all_assignable(b: Bindings, given: tuple[Type, ...], wanted: tuple[Type, ...]) -> bool:
    return len(given) == len(wanted) and all(
        _assignable(b, mine, yours) for mine, yours in zip(given, wanted, strict=True)
    )


def _assignable(b: Bindings, given: Type, wanted: Type) -> bool:
    if wanted.kind == "param":
        valid, bound = _bind(b, given, wanted)
        if valid or bound:
            return valid
    if given.kind == "param":
        return _bind(b, wanted, given)[0]
    if is_wild(given) or is_wild(wanted):
        return True
    if "null" in (given.kind, wanted.kind):
        other = wanted if given.kind == "null" else given
        return other.kind == "null" or other.kind in _NULLABLE
    if given.kind in _SCALARS:
        return given == wanted
    if given.kind == "type":
        return wanted.kind == "type"
    if given.kind in _NESTED:
        same = given.kind == wanted.kind and given.name == wanted.name
        return same and _all_assignable(b, given.params, wanted.params)
    return False


def _bind(b: Bindings, t: Type, variable: Type) -> tuple[bool, bool]:
    """Bind a parameter to a type; return whether it fits, and whether it was bound before."""
    if t == variable:
        return True, True
    bound = b.get(variable.name)
    if bound is not None:
        if t == bound:
            return True, True
        if _assignable(b, t, bound):
            general = most_general(t, bound)
            if not _occurs(b, variable, general):
                b[variable.name] = general
            return True, True
        return False, True
    if _occurs(b, variable, t):
        return False, False
    b[variable.name] = t
    return True, False


def _occurs(b: Bindings, variable: Type, within: Type) -> bool:
    if variable == within:
        return True
    if within.kind == "param":
        bound = b.get(within.name)
        return bound is not None and _occurs(b, variable, bound)
    return any(_occurs(b, variable, inner) for inner in within.params)


def _equal_or_less_specific(first: Type, second: Type) -> bool:
    if first.kind in ("dyn", "param"):
        return True
    if second.kind in ("dyn", "param") or first.kind != second.kind:
        return False
    if first.kind == "type":
        return True
    if first.kind in _NESTED:
        if first.name != second.name or len(first.params) != len(second.params):
            return False
        pairs = zip(first.params, second.params, strict=True)
        return all(_equal_or_less_specific(mine, yours) for mine, yours in pairs)
    return first == second
