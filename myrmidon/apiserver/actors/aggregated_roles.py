"""The controller for aggregated ClusterRoles: ``view``, ``edit``, ``admin``, and those of users.

A ClusterRole with an ``aggregationRule`` has the rules of all ClusterRoles that its selectors match,
ordered by name, each rule once.  Authors of custom resources label their roles with
``rbac.authorization.k8s.io/aggregate-to-view: "true"``, and who may view then sees these resources.
"""

from datetime import datetime

from myrmidon.api.objects.accessors import Json, labels_of, name_of
from myrmidon.apiserver.actors.actor import ServerAccess
from myrmidon.apiserver.actors.objects import CONTROLLER_MANAGER
from myrmidon.apiserver.builtin.validation.common import selects
from myrmidon.apiserver.store import StoredChange

_GROUP = "rbac.authorization.k8s.io"
_ROLES = f"clusterroles.{_GROUP}"
_MANAGER = (("fieldManager", "clusterrole-aggregation-controller"), ("force", "true"))


class AggregatedRoles:
    """Keeps the rules of aggregated ClusterRoles up to date."""

    watched = (_ROLES,)
    timed = False

    def __init__(self) -> None:
        self._is_dirty = False

    def observe(self, change: StoredChange) -> None:
        """Note that a ClusterRole has changed."""
        self._is_dirty |= change.resource == _ROLES

    def due(self) -> datetime | None:
        """Return None: this actor acts only on changes."""
        return None

    def act(self, server: ServerAccess) -> bool:
        """Write the rules that changed; return whether anything was written."""
        if not self._is_dirty:
            return False
        self._is_dirty, before = False, server.store.revision
        roles = [record.value for record in server.store.scan(_ROLES)]
        for role in roles:
            if role.get("aggregationRule"):
                rules = _aggregated(role, roles)
                if rules != (role.get("rules") or []):
                    _apply(server, role, rules)
        return server.store.revision != before


def _aggregated(role: Json, roles: list[Json]) -> list[Json]:
    """Return the rules of the ClusterRoles that an aggregated one selects."""
    rules: list[Json] = []
    for selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
        for other in roles:
            if name_of(other) != name_of(role) and selects(selector, labels_of(other)):
                rules += [rule for rule in other.get("rules") or () if rule not in rules]
    return rules


def _apply(server: ServerAccess, role: Json, rules: list[Json]) -> None:
    name = name_of(role)
    body = {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules,
    }
    server.request(
        "PATCH",
        f"/apis/{_GROUP}/v1/clusterroles/{name}",
        body,
        user=CONTROLLER_MANAGER,
        content_type="application/apply-patch+yaml",
        query=_MANAGER,
    )
