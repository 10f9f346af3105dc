"""Functions for optional values: ``self.?a.orValue(0)``."""

from collections.abc import Mapping

from myrmidon.apiserver.cel.declarations import function, method
from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.times import FIRST_SECOND, SECOND
from myrmidon.apiserver.cel.values import (
    NO_OVERLOAD,
    NONE,
    Duration,
    OptionalValue,
    Timestamp,
    Value,
    some,
)


def _is_zero(value: Value) -> bool:
    match value:
        case None:
            return True
        case bool() | int() | float() | str() | bytes() | list():
            return not value
        case Mapping():
            return len(value) == 0
        case Duration(nanos=nanos):
            return nanos == 0
        case Timestamp(nanos=nanos):
            return nanos == FIRST_SECOND * SECOND
        case OptionalValue():
            return not value.present or _is_zero(value.value)
        case _:
            return False


def _value(optional: OptionalValue) -> Value:
    if not optional.present:
        raise CelEvaluationError("optional.none() dereference")
    return optional.value


def _unwrap(items: list[Value]) -> list[Value]:
    for item in items:
        if not isinstance(item, OptionalValue):
            raise CelEvaluationError(f"value {item} is not optional")
    return [item.value for item in items if item.present]


def _run_by_evaluator(*_: Value) -> Value:
    """Raise: the evaluator handles these, because they may not evaluate their second argument."""
    raise CelEvaluationError(NO_OVERLOAD)


OVERLOADS = (
    function("optional_of", "optional.of(V) -> optional_type(V)", some),
    function(
        "optional_ofNonZeroValue",
        "optional.ofNonZeroValue(V) -> optional_type(V)",
        lambda value: NONE if _is_zero(value) else some(value),
    ),
    function("optional_none", "optional.none() -> optional_type(V)", lambda: NONE),
    method("optional_value", "value(optional_type(V)) -> V", _value),
    method("optional_hasValue", "hasValue(optional_type(V)) -> bool", lambda o: o.present),
    method(
        "optional_or_optional",
        "or(optional_type(V), optional_type(V)) -> optional_type(V)",
        _run_by_evaluator,
    ),
    method("optional_orValue_value", "orValue(optional_type(V), V) -> V", _run_by_evaluator),
    function("select_optional_field", "_?._(dyn, string) -> optional_type(V)", _run_by_evaluator),
    function(
        "list_optindex_optional_int", "_[?_](list(V), int) -> optional_type(V)", _run_by_evaluator
    ),
    function(
        "optional_list_optindex_optional_int",
        "_[?_](optional_type(list(V)), int) -> optional_type(V)",
        _run_by_evaluator,
    ),
    function(
        "map_optindex_optional_value", "_[?_](map(K, V), K) -> optional_type(V)", _run_by_evaluator
    ),
    function(
        "optional_map_optindex_optional_value",
        "_[?_](optional_type(map(K, V)), K) -> optional_type(V)",
        _run_by_evaluator,
    ),
    function("index_list", "_[_](list(A), int) -> A", _run_by_evaluator),
    function("index_map", "_[_](map(A, B), A) -> B", _run_by_evaluator),
    function(
        "optional_list_index_int",
        "_[_](optional_type(list(V)), int) -> optional_type(V)",
        _run_by_evaluator,
    ),
    function(
        "optional_map_index_value",
        "_[_](optional_type(map(K, V)), K) -> optional_type(V)",
        _run_by_evaluator,
    ),
    method(
        "list_last",
        "last(list(V)) -> optional_type(V)",
        lambda items: some(items[-1]) if items else NONE,
    ),
    method(
        "list_first",
        "first(list(V)) -> optional_type(V)",
        lambda items: some(items[0]) if items else NONE,
    ),
    function("optional_unwrap", "optional.unwrap(list(optional_type(V))) -> list(V)", _unwrap),
    method("optional_unwrapOpt", "unwrapOpt(list(optional_type(V))) -> list(V)", _unwrap),
)
