"""The loops of comprehensions, to which macros are expanded."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from myrmidon.apiserver.cel.access import elements
from myrmidon.apiserver.cel.ast import Loop
from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.functions.lists import insert_entries, insert_entry
from myrmidon.apiserver.cel.logic import Run, decide
from myrmidon.apiserver.cel.values import NO_OVERLOAD, Value, entries

Rounds = Callable[[list[Value]], Iterator[None]]


def fold_loop(kind: Loop, over: Run, slots: list[int], keep: Run | None, body: Run) -> Run:
    """Return the function of a comprehension; ``slots`` are those of its variables in the frame."""
    if kind == "bind":
        return _bound(over, slots[0], body)
    rounds = _rounds(over, slots)
    match kind:
        case "all":
            return _quantified(rounds, body, decisive=False)
        case "exists":
            return _quantified(rounds, body, decisive=True)
        case "exists_one":
            return _counted(rounds, body)
        case "list":
            return _collected(rounds, keep, body)
        case "map":
            return _mapped(rounds, keep, body, slots[0])
        case "entries":
            return _merged(rounds, keep, body)


def _rounds(over: Run, slots: list[int]) -> Rounds:
    """Return a generator function that sets the variables for each element in turn."""
    if len(slots) == 1:
        (slot,) = slots

        def single(frame: list[Value]) -> Iterator[None]:
            for item in elements(over(frame)):
                frame[slot] = item
                yield

        return single
    first, second = slots

    def pairs(frame: list[Value]) -> Iterator[None]:
        container = elements(over(frame), pairs=True)
        items: Any = entries(container) if isinstance(container, Mapping) else enumerate(container)
        for frame[first], frame[second] in items:
            yield

    return pairs


def _quantified(rounds: Rounds, body: Run, *, decisive: bool) -> Run:
    """Return ``&&`` or ``||`` of the body over all elements, with the same treatment of errors."""
    return lambda frame: decide((body for _ in rounds(frame)), frame, decisive=decisive)


def _passes(keep: Run, frame: list[Value]) -> bool:
    value = keep(frame)
    if type(value) is not bool:
        raise CelEvaluationError(NO_OVERLOAD)
    return value


def _counted(rounds: Rounds, body: Run) -> Run:
    return lambda frame: sum(_passes(body, frame) for _ in rounds(frame)) == 1


def _collected(rounds: Rounds, keep: Run | None, body: Run) -> Run:
    if keep is None:
        return lambda frame: [body(frame) for _ in rounds(frame)]
    return lambda frame: [body(frame) for _ in rounds(frame) if _passes(keep, frame)]


def _mapped(rounds: Rounds, keep: Run | None, body: Run, key: int) -> Run:
    def run(frame: list[Value]) -> Value:
        built: dict[Value, Value] = {}
        for _ in rounds(frame):
            if keep is None or _passes(keep, frame):
                built = insert_entry(built, frame[key], body(frame))
        return built

    return run


def _merged(rounds: Rounds, keep: Run | None, body: Run) -> Run:
    def run(frame: list[Value]) -> Value:
        built: dict[Value, Value] = {}
        for _ in rounds(frame):
            if keep is None or _passes(keep, frame):
                built = insert_entries(built, body(frame))
        return built

    return run


def _bound(value: Run, slot: int, body: Run) -> Run:
    def run(frame: list[Value]) -> Value:
        frame[slot] = value(frame)
        return body(frame)

    return run
