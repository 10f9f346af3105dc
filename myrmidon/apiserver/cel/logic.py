"""The operators that need not evaluate all operands: ``&&``, ``||``, ``?:``, ``or``, ``orValue``.

An error in one operand of ``&&`` and ``||`` is ignored if another operand decides the result: ``1/0
> 1 || true`` is true.
"""

from collections.abc import Callable, Iterable

from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.values import NO_OVERLOAD, OptionalValue, Value

Run = Callable[[list[Value]], Value]


def conjunction(terms: list[Run]) -> Run:
    """Return ``&&`` of the terms: a term that is false decides, whatever happens to the others."""
    return lambda frame: decide(terms, frame, decisive=False)


def disjunction(terms: list[Run]) -> Run:
    """Return ``||`` of the terms: a term that is true decides, whatever happens to the others."""
    return lambda frame: decide(terms, frame, decisive=True)


def decide(terms: Iterable[Run], frame: list[Value], *, decisive: bool) -> Value:
    """Return ``decisive`` if a term gives it; otherwise raise the first error, if there was one."""
    failed: CelEvaluationError | None = None
    for term in terms:
        try:
            value = term(frame)
        except CelEvaluationError as error:
            failed = failed or error
            continue
        if value is decisive:
            return decisive
        if type(value) is not bool:
            failed = failed or CelEvaluationError(NO_OVERLOAD)
    if failed is not None:
        raise failed
    return not decisive


def choice(parts: list[Run]) -> Run:
    """Return ``?:``; only the chosen side is evaluated."""
    condition, chosen, other = parts

    def run(frame: list[Value]) -> Value:
        value = condition(frame)
        if type(value) is not bool:
            raise CelEvaluationError(NO_OVERLOAD)
        return chosen(frame) if value else other(frame)

    return run


def or_value(args: list[Run]) -> Run:
    """Return ``orValue``: the value of an optional, or the other value."""
    first, second = args

    def run(frame: list[Value]) -> Value:
        found = first(frame)
        if not isinstance(found, OptionalValue):
            return found
        return found.value if found.present else second(frame)

    return run


def or_other(args: list[Run]) -> Run:
    """Return ``or``: the optional if it has a value, otherwise the other one."""
    first, second = args

    def run(frame: list[Value]) -> Value:
        found = first(frame)
        missing = isinstance(found, OptionalValue) and not found.present
        return second(frame) if missing else found

    return run
