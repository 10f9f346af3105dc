"""Defaults of RoleBindings and ClusterRoleBindings."""

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.defaults.completions import Completion, fill

_RBAC = "rbac.authorization.k8s.io"


def _subject(subject: Json) -> None:
    if subject.get("kind") in ("User", "Group"):
        fill(apiGroup=_RBAC)(subject)


ACCESS: dict[str, Completion] = {
    "api.rbac.v1.RoleRef": fill(apiGroup=_RBAC),
    "api.rbac.v1.Subject": _subject,
}
