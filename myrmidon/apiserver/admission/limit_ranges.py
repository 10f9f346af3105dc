"""Apply the LimitRanges of a namespace: defaults of containers, and minima, maxima and ratios.

New pods get the default requests and limits of their containers, and an annotation that says so.
After validation, containers, whole pods and claims are compared with the limits.  Like the plugin
``LimitRanger``, updates of pods are not looked at: their resources change only through ``resize``.
"""

from collections.abc import Iterator

from myrmidon.api.objects.accessors import Json, name_of
from myrmidon.api.values.quantities import parse_quantity
from myrmidon.apiserver.builtin.quotas.amounts import Amounts, is_more, is_zero
from myrmidon.apiserver.builtin.quotas.pod_resources import (
    amounts_of,
    containers_of,
    pod_resources,
)
from myrmidon.apiserver.builtin.quotas.usage import CLAIMS, PODS
from myrmidon.apiserver.refusals.failures import forbidden_object
from myrmidon.apiserver.requests.call import PendingWrite

LIMIT_RANGES = "limitranges"
_LIMITED = frozenset({PODS, CLAIMS})
_ANNOTATION = "kubernetes.io/limit-ranger"


class LimitRangeStep:
    """The admission step for LimitRanges."""

    def admit(self, admission: PendingWrite) -> Json | None:
        """Set the default requests and limits of a new pod."""
        if admission.call.type.stored_as != PODS or not _is_concerned(admission):
            return None
        assert admission.obj is not None, "a delete is not concerned"
        for limits in _limits(admission):
            _set_defaults(admission.obj, limits)
        return None

    def check(self, admission: PendingWrite) -> None:
        """Raise a 403 if a container, a pod or a claim is outside the limits."""
        if admission.call.type.stored_as not in _LIMITED or not _is_concerned(admission):
            return
        assert admission.obj is not None, "a delete is not concerned"
        kind = admission.call.type.kind
        for limits in _limits(admission):
            found = list(dict.fromkeys(_problems(kind.plural, admission.obj, limits)))
            if found:
                problem = found[0] if len(found) == 1 else f"[{', '.join(found)}]"
                raise forbidden_object(kind.plural, "", name_of(admission.obj), problem)


def _is_concerned(admission: PendingWrite) -> bool:
    if admission.subresource:
        return False
    if admission.operation == "UPDATE" and admission.call.type.stored_as == CLAIMS:
        assert admission.old is not None, "an update has an old object"
        return not admission.old["metadata"].get("deletionTimestamp")
    return admission.operation == "CREATE"


def _limits(admission: PendingWrite) -> Iterator[list[Json]]:
    """Yield the limits of each LimitRange of the namespace."""
    call = admission.call
    for record in call.core.store.scan(LIMIT_RANGES, f"{call.route.namespace}/"):
        yield record.value["spec"].get("limits") or []


# ------------------------------------------------------------------------------ defaults


def _set_defaults(pod: Json, limits: list[Json]) -> None:
    defaults: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for limit in limits:
        if limit.get("type") == "Container":
            defaults["requests"] |= limit.get("defaultRequest") or {}
            defaults["limits"] |= limit.get("default") or {}
    said: list[str] = []
    for what, container in containers_of(pod):
        for part, word in (("requests", "request"), ("limits", "limit")):
            added = _add_missing(container, part, defaults[part])
            if added:
                said.append(f"{', '.join(added)} {word} for {what} {container.get('name', '')}")
    if said:
        annotations = pod["metadata"].get("annotations") or {}
        text = f"LimitRanger plugin set: {'; '.join(said)}"
        pod["metadata"]["annotations"] = {**annotations, _ANNOTATION: text}


def _add_missing(container: Json, part: str, defaults: Amounts) -> list[str]:
    resources = container.get("resources") or {}
    present = resources.get(part) or {}
    missing = sorted(defaults.keys() - present.keys())
    if missing:
        container["resources"] = {**resources, part: {**defaults, **present}}
    return missing


# ------------------------------------------------------------------------------- limits


def _problems(plural: str, obj: Json, limits: list[Json]) -> Iterator[str]:
    for limit in limits:
        match (plural, limit.get("type")):
            case ("pods", "Container"):
                for _, container in containers_of(obj):
                    requests = amounts_of(container, "requests")
                    yield from _limit_problems(limit, requests, amounts_of(container, "limits"))
            case ("pods", "Pod"):
                requests, most = pod_resources(obj, "requests"), pod_resources(obj, "limits")
                yield from _limit_problems(limit, requests, most)
            case ("persistentvolumeclaims", "PersistentVolumeClaim"):
                yield from _claim_problems(limit, amounts_of(obj["spec"], "requests"))
            case _:
                pass


def _limit_problems(limit: Json, requests: Amounts, limits: Amounts) -> Iterator[str]:
    kind = limit["type"]
    for name, amount in sorted((limit.get("min") or {}).items()):
        said = f"minimum {name} usage per {kind} is {amount}"
        yield from _bounds(said, name, amount, (("request", requests), ("limit", limits)), -1)
    for name, amount in sorted((limit.get("max") or {}).items()):
        said = f"maximum {name} usage per {kind} is {amount}"
        yield from _bounds(said, name, amount, (("limit", limits), ("request", requests)), 1)
    for name, amount in sorted((limit.get("maxLimitRequestRatio") or {}).items()):
        said = f"{name} max limit to request ratio per {kind} is {amount}"
        yield from _ratio(said, amount, requests.get(name, "0"), limits.get(name, "0"))


def _claim_problems(limit: Json, requests: Amounts) -> Iterator[str]:
    for part, word, sign in (("min", "minimum", -1), ("max", "maximum", 1)):
        for name, amount in sorted((limit.get(part) or {}).items()):
            said = f"{word} {name} usage per {limit['type']} is {amount}"
            yield from _bounds(said, name, amount, (("request", requests),), sign)


def _bounds(
    said: str, name: str, bound: str, stated: tuple[tuple[str, Amounts], ...], sign: int
) -> Iterator[str]:
    """Yield the first problem: the first of ``stated`` is required, all must be within the bound."""
    for index, (word, amounts) in enumerate(stated):
        amount = amounts.get(name)
        if amount is None:
            if index == 0:
                yield f"{said}.  No {word} is specified"
                return
        elif is_more(amount, bound) if sign > 0 else is_more(bound, amount):
            yield f"{said}, but {word} is {amount}"
            return


def _ratio(said: str, bound: str, request: str, limit: str) -> Iterator[str]:
    for word, amount in (("request", request), ("limit", limit)):
        if is_zero(amount):
            yield f"{said}, but no {word} is specified or {word} is 0"
            return
    ratio = parse_quantity(limit).amount / parse_quantity(request).amount
    if ratio > parse_quantity(bound).amount:
        yield f"{said}, but provided ratio is {ratio:.6f}"
