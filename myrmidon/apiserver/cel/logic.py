"""``&&``, ``||``, ``?:`` and what optionals have: they decide without looking at everything.

An error on one side does not matter if the other side decides: ``1/0 > 1 || true`` is true.
"""

from collections.abc import Callable

from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.values import NO_OVERLOAD, OptionalValue, Value

Run = Callable[[list[Value]], Value]


def conjunction(terms: list[Run]) -> Run:
    """True if all terms are; false if any is, whatever happens to the others."""
    return _decided_by(terms, decisive=False)


def disjunction(terms: list[Run]) -> Run:
    """False if all terms are; true if any is, whatever happens to the others."""
    return _decided_by(terms, decisive=True)


def _decided_by(terms: list[Run], *, decisive: bool) -> Run:
    def run(frame: list[Value]) -> Value:
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

    return run


def choice(parts: list[Run]) -> Run:
    """The one side or the other, and never both."""
    condition, chosen, other = parts

    def run(frame: list[Value]) -> Value:
        value = condition(frame)
        if type(value) is not bool:
            raise CelEvaluationError(NO_OVERLOAD)
        return chosen(frame) if value else other(frame)

    return run


def or_value(args: list[Run]) -> Run:
    """What an optional has, or the other value."""
    first, second = args

    def run(frame: list[Value]) -> Value:
        found = first(frame)
        if not isinstance(found, OptionalValue):
            return found
        return found.value if found.present else second(frame)

    return run


def or_other(args: list[Run]) -> Run:
    """An optional if it is there, or another."""
    first, second = args

    def run(frame: list[Value]) -> Value:
        found = first(frame)
        missing = isinstance(found, OptionalValue) and not found.present
        return second(frame) if missing else found

    return run
