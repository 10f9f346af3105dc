"""Function calls at run time: evaluate the arguments, choose an overload, or raise an error."""

from typing import Any

from myrmidon.apiserver.cel.ast import IN, INDEX
from myrmidon.apiserver.cel.declarations import Implementation, Overload
from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.functions import FUNCTIONS
from myrmidon.apiserver.cel.logic import Run
from myrmidon.apiserver.cel.types import RUNTIME_NAMES
from myrmidon.apiserver.cel.values import NO_OVERLOAD, Value, kind_of

_QUIET = frozenset(
    ("matches", "find", "findAll", "contains", "startsWith", "endsWith", "!_", "-_", IN)
)
_ONLY_NAME = frozenset(("size", "sort"))
_RECEIVERS = frozenset(("string", "timestamp", "duration"))


def applied(name: str, run: Implementation, args: list[Run]) -> Run:
    """Return the function that evaluates the arguments and calls ``run``.

    There are versions for one and two arguments because they are faster.  An argument may be null
    where its schema allows it, although the checker assumed the type; the error then says that
    there is no such overload.
    """

    def failed(frame: list[Value], error: Exception) -> Exception:
        values = [arg(frame) for arg in args]
        if None not in values:
            return error
        return CelEvaluationError(_complaint(name, [kind_of(value) for value in values]))

    def unary(frame: list[Value]) -> Value:
        try:
            return run(args[0](frame))
        except (TypeError, AttributeError) as error:
            raise failed(frame, error) from None

    def binary(frame: list[Value]) -> Value:
        try:
            return run(args[0](frame), args[1](frame))
        except (TypeError, AttributeError) as error:
            raise failed(frame, error) from None

    def other(frame: list[Value]) -> Value:
        try:
            return run(*[arg(frame) for arg in args])
        except (TypeError, AttributeError) as error:
            raise failed(frame, error) from None

    return {1: unary, 2: binary}.get(len(args), other)


def dispatch(name: str, overloads: tuple[Overload, ...]) -> Implementation:
    """Return the function that chooses an overload by the types of the values."""

    def call(*values: Any) -> Value:
        for overload in overloads:
            if overload.takes(values):
                return overload.run(*values)
        raise CelEvaluationError(_complaint(name, [kind_of(value) for value in values]))

    return call


def _complaint(name: str, kinds: list[str]) -> str:
    if name in _QUIET:
        return NO_OVERLOAD
    if name in _ONLY_NAME:
        return f"{NO_OVERLOAD}: {name}"
    if name.startswith("_") and name != INDEX:
        known = any(overload.args[0].kind == kinds[0] for overload in FUNCTIONS.get(name, ()))
        return NO_OVERLOAD if known or kinds[0] in _RECEIVERS else f"{NO_OVERLOAD}: {name}"
    shown = ", ".join(RUNTIME_NAMES.get(kind, kind) for kind in kinds)
    return f"{NO_OVERLOAD}: {name}({shown})"
