"""Which webhooks and policies look at a write: rules, selectors, and equivalent versions.

A webhook or a policy says which writes it wants to see: operations, groups, versions and resources
(rules), labels of the object, labels of the namespace.  With ``matchPolicy: Equivalent`` a rule for
one version of a kind also matches a write in another one; the object is then converted to the version
of the rule.  The result of a match is therefore a resource type: the version in which the object is
shown.

Everything here is a plain function of the write and the configuration; conditions in CEL are checked
afterwards (``conditions``).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from myrmidon.api.objects.accessors import Json, labels_of
from myrmidon.api.requests.selectors import Requirement, Selector
from myrmidon.apiserver.refusals.failures import not_found
from myrmidon.apiserver.requests.call import PendingWrite
from myrmidon.apiserver.resources.registry import ResourceType

GROUP = "admissionregistration.k8s.io"
_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "absent"}
_EXEMPT = frozenset(
    f"{kind}{what}"
    for kind in ("Mutating", "Validating")
    for what in ("AdmissionPolicy", "AdmissionPolicyBinding", "WebhookConfiguration")
)


def is_exempt(admission: PendingWrite) -> bool:
    """Whether the write configures admission itself: a broken webhook must be removable."""
    kind = admission.call.type.kind
    return kind.group == GROUP and kind.kind in _EXEMPT


def webhook_match(admission: PendingWrite, webhook: Json) -> ResourceType | None:
    """Return the version in which a webhook sees the write; None if it does not look at it."""
    if not _selected(admission, webhook):
        return None
    is_equivalent = webhook.get("matchPolicy") == "Equivalent"
    return _first_match(
        admission, webhook.get("rules") or (), is_equivalent=is_equivalent, by_name=False
    )


def policy_match(admission: PendingWrite, resources: Json) -> ResourceType | None:
    """Return the version in which a policy with these ``matchConstraints`` sees the write, or None."""
    if not _selected(admission, resources):
        return None
    is_equivalent = resources.get("matchPolicy") == "Equivalent"
    excluded = resources.get("excludeResourceRules") or ()
    if _first_match(admission, excluded, is_equivalent=is_equivalent, by_name=True) is not None:
        return None
    rules = resources.get("resourceRules") or ()
    if not rules:
        return admission.call.type
    return _first_match(admission, rules, is_equivalent=is_equivalent, by_name=True)


# ------------------------------------------------------------------------- rules


def _first_match(
    admission: PendingWrite, rules: Any, *, is_equivalent: bool, by_name: bool
) -> ResourceType | None:
    own = admission.call.type
    for rule in rules:
        if _rule_matches(rule, admission, own) and (not by_name or _names(rule, admission)):
            return own
    if not is_equivalent or not rules:
        return None
    others = list(_equivalents(admission))
    for rule in rules:
        for other in others:
            if _rule_matches(rule, admission, other) and (not by_name or _names(rule, admission)):
                return other
    return None


def _equivalents(admission: PendingWrite) -> Iterator[ResourceType]:
    """Yield the other versions of the resource, which share its objects."""
    own = admission.call.type
    for other in admission.call.core.registry:
        if other is not own and other.stored_as == own.stored_as:
            yield other


def _rule_matches(rule: Json, admission: PendingWrite, seen_as: ResourceType) -> bool:
    kind = seen_as.kind
    scope = rule.get("scope") or "*"
    return (
        _lists(rule.get("operations"), admission.operation)
        and _lists(rule.get("apiGroups"), kind.group)
        and _lists(rule.get("apiVersions"), kind.version)
        and any(_is_resource(each, kind.plural, admission) for each in rule.get("resources") or ())
        and scope in ("*", "Namespaced" if kind.namespaced else "Cluster")
    )


def _is_resource(listed: str, plural: str, admission: PendingWrite) -> bool:
    resource, _, subresource = listed.partition("/")
    return resource in ("*", plural) and subresource in ("*", admission.subresource)


def _lists(listed: list[str] | None, wanted: str) -> bool:
    return any(each in ("*", wanted) for each in listed or ())


def _names(rule: Json, admission: PendingWrite) -> bool:
    names = rule.get("resourceNames")
    return not names or admission.name in names


# ------------------------------------------------------------------------- selectors


def _selected(admission: PendingWrite, configuration: Json) -> bool:
    objects = selector(configuration.get("objectSelector"))
    if objects and not any(
        obj is not None and objects.matches(labels_of(obj))
        for obj in (admission.obj, admission.old)
    ):
        return False
    namespaces = selector(configuration.get("namespaceSelector"))
    return not namespaces or _is_cluster_wide(admission) or namespaces.matches(_labels(admission))


def _is_cluster_wide(admission: PendingWrite) -> bool:
    """Whether the object is in no namespace; a Namespace counts as being in itself."""
    resource_type = admission.call.type
    return not resource_type.kind.namespaced and resource_type.stored_as != "namespaces"


def _labels(admission: PendingWrite) -> Mapping[str, str]:
    """Return the labels of the namespace; those of a Namespace that is written are its new ones."""
    call = admission.call
    is_own = call.type.stored_as == "namespaces" and not admission.subresource
    if is_own and admission.obj is not None:
        return labels_of(admission.obj)
    name = admission.namespace or (admission.old or {}).get("metadata", {}).get("name", "")
    record = call.core.store.get("namespaces", name)
    if record is None:
        raise not_found("namespaces", "", name)
    return labels_of(record.value)


def selector(raw: Json | None) -> Selector:
    """Return a label selector of an object; None selects everything."""
    raw = raw or {}
    equal = [
        Requirement(key, "=", (value,)) for key, value in (raw.get("matchLabels") or {}).items()
    ]
    others = [
        Requirement(each["key"], _OPERATORS[each["operator"]], tuple(each.get("values") or ()))
        for each in raw.get("matchExpressions") or ()
    ]
    return Selector((*equal, *others))
