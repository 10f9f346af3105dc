"""RBAC: authorization by the Roles and bindings in the store.

A request is allowed if a rule of a role covers it and a binding grants that role to the user, to
one of the user's groups, or to the user's service account.  ClusterRoleBindings apply everywhere,
RoleBindings only in their namespace.  The store is read for every decision, so a new or deleted
binding takes effect at once.  Members of ``system:masters`` may do everything.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from myrmidon.api.objects.accessors import Json, namespace_of
from myrmidon.apiserver.auth.users import MASTERS, Attributes, User
from myrmidon.apiserver.store import ObjectStore

GROUP = "rbac.authorization.k8s.io"
_ROLES, _CLUSTER_ROLES = f"roles.{GROUP}", f"clusterroles.{GROUP}"
_BINDINGS, _CLUSTER_BINDINGS = f"rolebindings.{GROUP}", f"clusterrolebindings.{GROUP}"
_SERVICE_ACCOUNT = "system:serviceaccount:"


class RoleAuthorizer:
    """The authorizer that uses the Roles and bindings in the store."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def allows(self, user: User, attributes: Attributes) -> bool:
        """Whether a rule allows the request; members of ``system:masters`` do not need one."""
        return self.reason(user, attributes) is not None

    def reason(self, user: User, attributes: Attributes) -> str | None:
        """Return why the request is allowed, in the words of the real server; None if it is not."""
        if MASTERS in user.groups:
            return ""
        namespace = "" if attributes.path else attributes.namespace
        for binding, subject in self._bindings(user, namespace):
            if any(_covers(rule, attributes) for rule in self.rules_of(binding) or ()):
                return _reason(binding, subject)
        return None

    def rules(self, user: User, namespace: str) -> Iterator[Json]:
        """Yield every rule that applies to a user in a namespace, including cluster-wide rules."""
        for binding, _ in self._bindings(user, namespace):
            yield from self.rules_of(binding) or ()

    def rules_of(self, binding: Json) -> Sequence[Json] | None:
        """Return the rules of the role that a binding refers to; None if the role is missing."""
        role = binding["roleRef"]
        if role.get("kind") == "Role":
            record = self._store.get(_ROLES, f"{namespace_of(binding)}/{role['name']}")
        else:
            record = self._store.get(_CLUSTER_ROLES, role["name"])
        return (record.value.get("rules") or ()) if record is not None else None

    def _bindings(self, user: User, namespace: str) -> Iterator[tuple[Json, Json]]:
        """Yield the bindings that apply to a user, each with the subject that matched."""
        records = self._store.scan(_CLUSTER_BINDINGS)
        if namespace:
            records = [*records, *self._store.scan(_BINDINGS, f"{namespace}/")]
        for record in records:
            for subject in record.value.get("subjects") or ():
                if _names_user(subject, user):
                    yield record.value, subject
                    break


def _reason(binding: Json, subject: Json) -> str:
    name, namespace, role = binding["metadata"]["name"], namespace_of(binding), binding["roleRef"]
    kind, where = (
        ("RoleBinding", f"{name}/{namespace}") if namespace else ("ClusterRoleBinding", name)
    )
    who = subject["name"]
    if subject["kind"] == "ServiceAccount":
        who = f"{who}/{subject.get('namespace', '')}"
    return f'RBAC: allowed by {kind} "{where}" of {role["kind"]} "{role["name"]}" to {subject["kind"]} "{who}"'


def _names_user(subject: Json, user: User) -> bool:
    match subject.get("kind"):
        case "User":
            return bool(subject["name"] == user.name)
        case "Group":
            return subject["name"] in user.groups
        case "ServiceAccount":
            return (
                user.name == f"{_SERVICE_ACCOUNT}{subject.get('namespace', '')}:{subject['name']}"
            )
        case _:
            return False


def _covers(rule: Mapping[str, Any], wanted: Attributes) -> bool:
    verbs = rule.get("verbs") or ()
    if wanted.verb not in verbs and "*" not in verbs:
        return False
    if wanted.path:
        return any(_path_matches(each, wanted.path) for each in rule.get("nonResourceURLs") or ())
    return (
        _has(rule.get("apiGroups"), wanted.group)
        and _resource_matches(rule.get("resources") or (), wanted)
        and _name_matches(rule.get("resourceNames") or (), wanted.name)
    )


def _has(listed: Iterable[str] | None, wanted: str) -> bool:
    return any(each in ("*", wanted) for each in listed or ())


def _resource_matches(listed: Iterable[str], wanted: Attributes) -> bool:
    resource = f"{wanted.resource}/{wanted.subresource}" if wanted.subresource else wanted.resource
    anywhere = f"*/{wanted.subresource}" if wanted.subresource else "*"
    return any(each in ("*", resource, anywhere) for each in listed)


def _name_matches(listed: Sequence[str], name: str) -> bool:
    return not listed or name in listed


def _path_matches(listed: str, path: str) -> bool:
    return listed == path or (listed.endswith("*") and path.startswith(listed[:-1]))
