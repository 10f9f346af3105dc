"""Limits for the estimated cost of rules, which are checked when a definition is written."""

from typing import NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.refusals import causes
from myrmidon.apiserver.refusals.failures import StatusCause

_LIMIT, _TOTAL_LIMIT = 10_000_000, 100_000_000
_UINT64_MAX = 2**64 - 1
_SHOWN_MAX = 4
_ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
    "maps, and strings are declared)"
)


class Cost(NamedTuple):
    """The estimated maximal cost of an expression for one object."""

    path: str
    amount: int


def times(cost: int, cardinality: int) -> int:
    """Return the cost of an expression that runs several times, at most that of a full uint64."""
    return min(cost * cardinality, _UINT64_MAX)


def cardinality_inside(schema: Json, around: int | None) -> int | None:
    """Return how many values one object can have at a child of the schema, None if unlimited."""
    if around is None:
        return None
    most: int | None = 1
    if schema.get("type") == "array":
        most = schema.get("maxItems")
    elif schema.get("type") == "object" and schema.get("additionalProperties") is not None:
        most = schema.get("maxProperties")
    return None if most is None else times(around, max(most, 0))


def check_cost(cost: Cost, what: str) -> list[StatusCause]:
    """Return an error if the expression exceeds its cost limit."""
    if cost.amount <= _LIMIT:
        return []
    return [causes.forbidden(cost.path, _exceeded(f"estimated {what} cost", cost.amount, _LIMIT))]


def check_total(costs: list[Cost], path: str) -> list[StatusCause]:
    """Return errors if the expressions of a schema together exceed their limit.

    The errors name the most expensive expressions, and then the schema.
    """
    total = min(sum(cost.amount for cost in costs), _UINT64_MAX)
    if total <= _TOTAL_LIMIT:
        return []
    heavy = [cost for cost in costs if cost.amount >= _TOTAL_LIMIT // 100]
    heavy.sort(key=lambda cost: -cost.amount)
    blame = (
        "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
    )
    found = [causes.forbidden(cost.path, blame) for cost in heavy[:_SHOWN_MAX]]
    what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
    return [*found, causes.forbidden(path, _exceeded(what, total, _TOTAL_LIMIT))]


def _exceeded(what: str, amount: int, limit: int) -> str:
    factor = amount / limit
    shown = f"{factor:.1f}x"
    if factor > 100:
        shown = "more than 100x"
    elif factor < 1.5:
        shown = f"{factor:f}x"
    return f"{what} exceeds budget by factor of {shown} {_ADVICE}"
