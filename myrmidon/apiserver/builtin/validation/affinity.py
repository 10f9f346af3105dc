"""Validation of node affinity, pod affinity and pod anti-affinity."""

from collections.abc import Iterator

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.validation.common import label_selector, qualified
from myrmidon.apiserver.refusals.causes import forbidden, invalid, required
from myrmidon.apiserver.refusals.failures import StatusCause

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_WITH_VALUES = ("In", "NotIn")
_WITHOUT_VALUES = ("Exists", "DoesNotExist")
_COMPARING = ("Gt", "Lt")


def check_affinity(field: str, affinity: Json) -> Iterator[StatusCause]:
    """Check all three kinds of affinity."""
    if "nodeAffinity" in affinity:
        yield from _check_nodes(f"{field}.nodeAffinity", affinity["nodeAffinity"])
    for name in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(name, {})
        for index, term in enumerate(terms.get(_REQUIRED, ())):
            yield from _check_pod_term(f"{field}.{name}.{_REQUIRED}[{index}]", term)
        for index, weighted in enumerate(terms.get(_PREFERRED, ())):
            at = f"{field}.{name}.{_PREFERRED}[{index}]"
            yield from _check_weight(at, weighted)
            yield from _check_pod_term(f"{at}.podAffinityTerm", weighted.get("podAffinityTerm", {}))


def _check_pod_term(field: str, term: Json) -> Iterator[StatusCause]:
    for name in ("labelSelector", "namespaceSelector"):
        if name in term:
            yield from label_selector(f"{field}.{name}", term[name])
    if not term.get("topologyKey"):
        yield required(f"{field}.topologyKey", "can not be empty")
    yield from qualified(f"{field}.topologyKey", term.get("topologyKey", ""))


def _check_nodes(field: str, affinity: Json) -> Iterator[StatusCause]:
    if _REQUIRED in affinity:
        at = f"{field}.{_REQUIRED}.nodeSelectorTerms"
        terms = affinity[_REQUIRED].get("nodeSelectorTerms") or []
        if not terms:
            yield required(at, "must have at least one node selector term")
        for index, term in enumerate(terms):
            yield from _check_node_term(f"{at}[{index}]", term)
    for index, weighted in enumerate(affinity.get(_PREFERRED, ())):
        at = f"{field}.{_PREFERRED}[{index}]"
        yield from _check_weight(at, weighted)
        yield from _check_node_term(f"{at}.preference", weighted.get("preference", {}))


def _check_weight(field: str, weighted: Json) -> Iterator[StatusCause]:
    weight = weighted.get("weight", 0)
    if not 1 <= weight <= 100:
        yield invalid(f"{field}.weight", weight, "must be in the range 1-100")


def _check_node_term(field: str, term: Json) -> Iterator[StatusCause]:
    for index, expression in enumerate(term.get("matchExpressions", ())):
        at = f"{field}.matchExpressions[{index}]"
        operator, values = expression.get("operator", ""), expression.get("values") or []
        if operator in _WITH_VALUES and not values:
            yield required(f"{at}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        elif operator in _WITHOUT_VALUES and values:
            yield forbidden(
                f"{at}.values",
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )
        elif operator in _COMPARING and len(values) != 1:
            yield required(
                f"{at}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'"
            )
        elif operator not in (*_WITH_VALUES, *_WITHOUT_VALUES, *_COMPARING):
            yield invalid(f"{at}.operator", operator, "not a valid selector operator")
        yield from qualified(f"{at}.key", expression.get("key", ""))
