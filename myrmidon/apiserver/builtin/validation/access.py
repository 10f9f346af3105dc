"""Validation of RBAC roles and bindings."""

from collections.abc import Iterator

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.validation.common import label_selector, subdomain
from myrmidon.apiserver.refusals.causes import invalid, not_supported, required
from myrmidon.apiserver.refusals.failures import StatusCause

GROUP = "rbac.authorization.k8s.io"


def check_role(role: Json) -> Iterator[StatusCause]:
    """Check a Role."""
    yield from _check_rules(role, namespaced=True)


def check_cluster_role(role: Json) -> Iterator[StatusCause]:
    """Check a ClusterRole."""
    yield from _check_rules(role, namespaced=False)
    aggregation = role.get("aggregationRule")
    if aggregation is None:
        return
    selectors = aggregation.get("clusterRoleSelectors") or []
    if not selectors:
        yield required(
            "aggregationRule.clusterRoleSelectors",
            "at least one clusterRoleSelector required if aggregationRule is non-nil",
        )
    for index, selector in enumerate(selectors):
        yield from label_selector(f"aggregationRule.clusterRoleSelectors[{index}]", selector)


def _check_rules(role: Json, *, namespaced: bool) -> Iterator[StatusCause]:
    for index, rule in enumerate(role.get("rules") or ()):
        yield from _check_rule(f"rules[{index}]", rule, namespaced=namespaced)


def _check_rule(field: str, rule: Json, *, namespaced: bool) -> Iterator[StatusCause]:
    if not rule.get("verbs"):
        yield required(f"{field}.verbs", "verbs must contain at least one value")
    urls = rule.get("nonResourceURLs", [])
    if urls:
        if namespaced:
            yield invalid(
                f"{field}.nonResourceURLs",
                urls,
                "namespaced rules cannot apply to non-resource URLs",
            )
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            yield invalid(
                f"{field}.nonResourceURLs",
                urls,
                "rules cannot apply to both regular resources and non-resource URLs",
            )
        return
    if not rule.get("apiGroups"):
        yield required(f"{field}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield required(f"{field}.resources", "resource rules must supply at least one resource")


def check_role_binding(binding: Json) -> Iterator[StatusCause]:
    """Check a RoleBinding."""
    yield from _check_binding(binding, ("Role", "ClusterRole"), namespaced=True)


def check_cluster_role_binding(binding: Json) -> Iterator[StatusCause]:
    """Check a ClusterRoleBinding."""
    yield from _check_binding(binding, ("ClusterRole",), namespaced=False)


def _check_binding(
    binding: Json, kinds: tuple[str, ...], *, namespaced: bool
) -> Iterator[StatusCause]:
    role = binding["roleRef"]
    if role.get("apiGroup") != GROUP:
        yield not_supported("roleRef.apiGroup", role.get("apiGroup", ""), (GROUP,))
    if role.get("kind") not in kinds:
        yield not_supported("roleRef.kind", role.get("kind", ""), kinds)
    if not role.get("name"):
        yield required("roleRef.name")
    elif "/" in role["name"] or "%" in role["name"]:
        sign = "/" if "/" in role["name"] else "%"
        yield invalid("roleRef.name", role["name"], f"may not contain '{sign}'")
    for index, subject in enumerate(binding.get("subjects", ())):
        yield from _check_subject(f"subjects[{index}]", subject, namespaced=namespaced)


def _check_subject(field: str, subject: Json, *, namespaced: bool) -> Iterator[StatusCause]:
    if not subject.get("name"):
        yield required(f"{field}.name")
    match subject.get("kind"):
        case "ServiceAccount":
            if subject.get("name"):
                yield from subdomain(f"{field}.name", subject["name"])
            if subject.get("apiGroup"):
                yield not_supported(f"{field}.apiGroup", subject["apiGroup"], ("",))
            if not namespaced and not subject.get("namespace"):
                yield required(f"{field}.namespace")
        case "User" | "Group":
            if subject.get("apiGroup") != GROUP:
                yield not_supported(f"{field}.apiGroup", subject.get("apiGroup", ""), (GROUP,))
        case other:
            yield not_supported(f"{field}.kind", other or "", ("ServiceAccount", "User", "Group"))


def check_binding_change(new: Json, old: Json) -> Iterator[StatusCause]:
    """Check that the ``roleRef`` of a binding does not change."""
    if new["roleRef"] != old["roleRef"]:
        role = new["roleRef"]
        shown = {
            "APIGroup": role.get("apiGroup", ""),
            "Kind": role.get("kind", ""),
            "Name": role.get("name", ""),
        }
        yield invalid("roleRef", shown, "cannot change roleRef")
