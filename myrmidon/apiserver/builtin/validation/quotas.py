"""Validation of ResourceQuotas and LimitRanges."""

from collections.abc import Iterator

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.quantities import parse_quantity
from myrmidon.apiserver.builtin.validation.common import qualified
from myrmidon.apiserver.golang.text import Struct
from myrmidon.apiserver.refusals.causes import forbidden, invalid, required
from myrmidon.apiserver.refusals.failures import StatusCause

_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_COUNTED = frozenset({
    "pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
    "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
})  # fmt: skip
_QUOTA = _COUNTED | {"requests.storage"} | {
    f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in _COMPUTE
}  # fmt: skip
_STANDARD = _QUOTA | {"storage"}
_HUGE_PAGES = "hugepages-"
_POD_COMPUTE = {
    f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory")
}
_SCOPES: dict[str, frozenset[str]] = {  # the standard names that each scope can limit
    "BestEffort": frozenset({"pods"}),
    **dict.fromkeys(
        (
            "Terminating", "NotTerminating", "NotBestEffort", "PriorityClass",
            "CrossNamespacePodAffinity",
        ),
        frozenset({"pods", *_POD_COMPUTE}),
    ),
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}  # fmt: skip
_WITH_VALUES = ("PriorityClass", "VolumeAttributesClass")
_CONFLICTS = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_TYPES = ("Pod", "Container", "PersistentVolumeClaim")


def _resource_name(field: str, name: str) -> Iterator[StatusCause]:
    problems = list(qualified(field, name))
    yield from problems
    standard = name in _STANDARD or name.removeprefix("requests.").startswith(_HUGE_PAGES)
    if not problems and "/" not in name and not standard:
        yield invalid(field, name, "must be a standard resource type or fully qualified")


def _is_integer(name: str) -> bool:
    """Whether only whole amounts of a resource make sense: counts and extended resources."""
    extended = "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")
    return name in _COUNTED or extended


def check_quota(quota: Json) -> Iterator[StatusCause]:
    """Check a ResourceQuota."""
    spec = quota["spec"]
    for name, amount in sorted(spec.get("hard", {}).items()):
        field = f"spec.hard[{name}]"
        yield from _resource_name(field, name)
        huge = name.removeprefix("requests.").startswith(_HUGE_PAGES)
        if "/" not in name and name not in _QUOTA and not huge:
            yield invalid(field, name, "must be a standard resource for quota")
        value = parse_quantity(amount).amount
        if value < 0:
            yield invalid(field, amount, "must be greater than or equal to 0")
        if _is_integer(name) and value != value.to_integral_value():
            yield invalid(field, amount, "must be an integer")
    yield from _scopes(spec)
    yield from _scope_selector(spec)


def _scopes(spec: Json) -> Iterator[StatusCause]:
    field, scopes = "spec.scopes", spec.get("scopes") or []
    for scope in scopes:
        if scope not in _SCOPES:
            yield invalid(field, scopes, "unsupported scope")
        for _ in _unfit(scope, spec):
            yield invalid(field, scopes, "unsupported scope applied to resource")
    if any(pair <= set(scopes) for pair in _CONFLICTS):
        yield invalid(field, scopes, "conflicting scopes")


def _unfit(scope: str, spec: Json) -> Iterator[str]:
    """Yield the standard names of a quota that a scope cannot limit."""
    for name in spec.get("hard", {}):
        if name in _QUOTA and scope in _SCOPES and name not in _SCOPES[scope]:
            yield name


def _scope_selector(spec: Json) -> Iterator[StatusCause]:
    field = "spec.scopeSelector.matchExpressions"
    selected = (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    written = [
        Struct(
            ScopeName=each.get("scopeName", ""),
            Operator=each.get("operator", ""),
            Values=each.get("values"),
        )
        for each in selected
    ]
    for each in selected:
        scope, operator = each.get("scopeName", ""), each.get("operator", "")
        if scope not in _SCOPES:
            yield invalid(f"{field}.scopeName", scope, "unsupported scope")
        for _ in _unfit(scope, spec):
            problem = "unsupported scope applied to resource"
            yield invalid(field, {"MatchExpressions": written}, problem)
        if scope in _SCOPES and scope not in _WITH_VALUES and operator != "Exists":
            yield invalid(
                f"{field}.operator",
                operator,
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
                "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
            )
        yield from _operator(field, operator, each.get("values"))
    if any(pair <= {each.get("scopeName") for each in selected} for pair in _CONFLICTS):
        yield invalid(field, written, "conflicting scopes")


def _operator(field: str, operator: str, values: list[str] | None) -> Iterator[StatusCause]:
    if operator in ("In", "NotIn"):
        if not values:
            yield required(
                f"{field}.values",
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
            )
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield invalid(
                f"{field}.values",
                values,
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
            )
    else:
        yield invalid(f"{field}.operator", operator, "not a valid selector operator")


# ------------------------------------------------------------------------- limit ranges


def check_limit_range(limit_range: Json) -> Iterator[StatusCause]:
    """Check a LimitRange."""
    seen: set[str] = set()
    for index, item in enumerate(limit_range["spec"].get("limits") or ()):
        field, kind = f"spec.limits[{index}]", item.get("type", "")
        problems = list(qualified(f"{field}.type", kind))
        yield from problems
        if not problems and "/" not in kind and kind not in _TYPES:
            text = "must be a standard limit type or fully qualified"
            yield invalid(f"{field}.type", kind, text)
        if kind in seen:
            yield StatusCause(f"{field}.type", "FieldValueDuplicate", f'Duplicate value: "{kind}"')
        seen.add(kind)
        yield from _limit_names(field, kind, item)
        names = {name for part in _PARTS for name in item.get(part) or {}}
        for name in sorted(names):
            yield from _limit_amounts(field, name, item)
            yield from _limit_ratio(f"{field}.maxLimitRequestRatio[{name}]", name, item)


_PARTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def _limit_names(field: str, kind: str, item: Json) -> Iterator[StatusCause]:
    for part in _PARTS:
        amounts = item.get(part) or {}
        if kind == "Pod" and part.startswith("default"):
            if amounts:
                yield forbidden(f"{field}.{part}", "may not be specified when `type` is 'Pod'")
            continue
        for name in sorted(amounts):
            yield from _resource_name(f"{field}.{part}[{name}]", name)
            standard = name in _COMPUTE or name.startswith(_HUGE_PAGES)
            if kind in ("Pod", "Container") and "/" not in name and not standard:
                text = "must be a standard resource for containers"
                yield invalid(f"{field}.{part}[{name}]", name, text)
        if part == "defaultRequest" and kind == "PersistentVolumeClaim":
            stated = any("storage" in (item.get(bound) or {}) for bound in ("min", "max"))
            if not stated:
                yield required(
                    f"{field}.limits",
                    "either minimum or maximum storage value is required, but neither was provided",
                )


# Which of two amounts must not be the greater one, and the field and the amount that the cause shows.
_ORDER = (
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    (
        "min", "defaultRequest", "defaultRequest", "defaultRequest",
        "min value {} is greater than default request value {}",
    ),
    (
        "defaultRequest", "max", "defaultRequest", "defaultRequest",
        "default request value {} is greater than max value {}",
    ),
    (
        "defaultRequest", "default", "defaultRequest", "defaultRequest",
        "default request value {} is greater than default limit value {}",
    ),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)  # fmt: skip


def _limit_amounts(field: str, name: str, item: Json) -> Iterator[StatusCause]:
    amounts = {part: (item.get(part) or {}).get(name) for part in _PARTS}
    if item.get("type") == "Pod":
        amounts["default"] = amounts["defaultRequest"] = None
    for small, large, where, shown, text in _ORDER:
        less, more = amounts[small], amounts[large]
        if less is None or more is None:
            continue
        if parse_quantity(less).amount > parse_quantity(more).amount:
            yield invalid(f"{field}.{where}[{name}]", amounts[shown], text.format(less, more))
    given, request = amounts["default"], amounts["defaultRequest"]
    overcommits = not name.startswith(_HUGE_PAGES) and ("/" not in name or "kubernetes.io/" in name)
    if not overcommits and given and request and given != request:
        text = f"default value {given} must equal to defaultRequest value {request} in {name}"
        yield invalid(f"{field}.defaultRequest[{name}]", request, text)


def _limit_ratio(field: str, name: str, item: Json) -> Iterator[StatusCause]:
    ratio = (item.get("maxLimitRequestRatio") or {}).get(name)
    if ratio is None:
        return
    most = parse_quantity(ratio).amount
    if most < 1:
        yield invalid(field, ratio, f"ratio {ratio} is less than 1")
    bounds = [(item.get(part) or {}).get(name) for part in ("max", "min")]
    if None not in bounds:
        high, low = (parse_quantity(str(bound)).amount for bound in bounds)
        if low and most > high / low:
            yield invalid(field, ratio, f"ratio {ratio} is greater than max/min = {high / low:.6f}")
