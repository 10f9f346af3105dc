"""The quota controller: ``status.hard`` and ``status.used`` of ResourceQuotas.

Admission charges what is created (``admission.resource_quota``).  This controller does the rest: it
copies ``spec.hard`` to the status, counts what existed before the quota, and counts again after
deletes and whenever a pod ends.

Any object may be counted, so it would have to observe every change.  Instead it observes quotas only,
and reads the changes of the namespaces with quotas from the history of the store: without quotas it
costs one call whenever the server settles.
"""

from datetime import datetime

from myrmidon.api.objects.accessors import Json, name_of, namespace_of
from myrmidon.apiserver.actors.actor import ServerAccess
from myrmidon.apiserver.actors.objects import CONTROLLER_MANAGER, MERGE
from myrmidon.apiserver.builtin.quotas.amounts import add, only
from myrmidon.apiserver.builtin.quotas.usage import UNCOUNTED, is_in_scope, resource_of, usage
from myrmidon.apiserver.store import StoredChange

_QUOTAS = "resourcequotas"
_MANAGER = (("fieldManager", "kube-controller-manager"),)


class ResourceQuotas:
    """Counts what the objects of a namespace use of its quotas."""

    watched = (_QUOTAS,)

    def __init__(self) -> None:
        self._namespaces: set[str] = set()  # those that have a quota
        self._seen = 0  # changes up to this revision are counted
        self._epoch = 0  # of the registry: a kind that is served now may be counted

    def observe(self, change: StoredChange) -> None:
        """Note the namespace of a quota; it is counted because the quota has changed."""
        if change.resource == _QUOTAS:
            self._namespaces.add(namespace_of(change.record.value))
            self._seen = min(self._seen, change.revision - 1)

    def due(self) -> datetime | None:
        """Return None: usage changes only with objects."""
        return None

    def act(self, server: ServerAccess) -> bool:
        """Count again in each namespace that has changed; return whether anything was written."""
        if not self._namespaces:
            return False
        store, epoch = server.store, server.core.registry.epoch
        touched, before = self._namespaces, store.revision
        if self._seen >= store.compacted and self._epoch == epoch:
            changes = store.all_changes(after=self._seen)
            touched = touched & {namespace_of(change.record.value) for change in changes}
        self._seen, self._epoch = before, epoch
        for namespace in sorted(touched):
            quotas = [record.value for record in store.scan(_QUOTAS, f"{namespace}/")]
            for quota in quotas:
                _write_status(server, quota)
            if not quotas:
                self._namespaces.discard(namespace)
        return store.revision != before


def _write_status(server: ServerAccess, quota: Json) -> None:
    """Write the status of a quota if it differs from what exists."""
    hard = quota["spec"].get("hard") or {}
    status = quota.get("status") or {}
    used = only(status.get("used") or {}, hard) | counted(server, quota)
    if status.get("hard") == hard and status.get("used") == used:
        return
    wanted = {"hard": hard, "used": used}
    changed = {
        part: dict.fromkeys((status.get(part) or {}).keys() - amounts.keys()) | amounts
        for part, amounts in wanted.items()
    }
    path = f"/api/v1/namespaces/{namespace_of(quota)}/{_QUOTAS}/{name_of(quota)}/status"
    server.request(
        "PATCH",
        path,
        {"status": changed},
        user=CONTROLLER_MANAGER,
        content_type=MERGE,
        query=_MANAGER,
    )


def counted(server: ServerAccess, quota: Json) -> dict[str, str]:
    """Return what the objects of a namespace use of a quota, for each name that can be counted."""
    resources: dict[str, list[str]] = {}
    for name in sorted(quota["spec"].get("hard") or {}):
        resources.setdefault(resource_of(name), []).append(name)
    now = server.core.environment.now()
    used: dict[str, str] = {}
    for resource, names in resources.items():
        served = server.core.registry.storages().get(resource)
        if served is None or not served.kind.namespaced or resource in UNCOUNTED:
            continue
        used |= dict.fromkeys(names, "0")
        for record in server.store.scan(resource, f"{namespace_of(quota)}/"):
            if is_in_scope(resource, quota, record.value):
                used = add(used, only(usage(resource, record.value, now), names))
    return used
