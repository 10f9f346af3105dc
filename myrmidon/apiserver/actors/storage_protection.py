"""The protection controllers of storage: a claim stays while a pod uses it, a volume while it is bound.

The server gives every new claim and volume a finalizer.  These controllers remove it from an object that
is being deleted and that is not used any more.
"""

from datetime import datetime

from myrmidon.api.objects.accessors import (
    Json,
    finalizers_of,
    is_deleting,
    name_of,
    namespace_of,
    uid_of,
)
from myrmidon.apiserver.actors.actor import ServerAccess
from myrmidon.apiserver.actors.objects import patch
from myrmidon.apiserver.store import StoredChange

_PODS, _CLAIMS, _VOLUMES = "pods", "persistentvolumeclaims", "persistentvolumes"
_FINALIZERS = {
    _CLAIMS: "kubernetes.io/pvc-protection",
    _VOLUMES: "kubernetes.io/pv-protection",
}


class StorageProtection:
    """Removes the protection finalizers of claims and volumes that are deleted and not used."""

    watched = (_PODS, _CLAIMS, _VOLUMES)
    timed = False

    def __init__(self) -> None:
        self._dirty: dict[tuple[str, str], None] = {}

    def observe(self, change: StoredChange) -> None:
        """Note claims and volumes that are being deleted, and claims of a deleted pod."""
        obj = change.record.value
        if change.resource == _PODS:
            if change.deleted:
                for claim in claims_of(obj):
                    self._dirty[_CLAIMS, f"{namespace_of(obj)}/{claim}"] = None
        elif is_deleting(obj) and not change.deleted:
            self._dirty[change.resource, change.record.key] = None

    def due(self) -> datetime | None:
        """Return None: this actor acts only on changes."""
        return None

    def act(self, server: ServerAccess) -> bool:
        """Release what is not used; return whether anything was written."""
        dirty, self._dirty = self._dirty, {}
        before = server.store.revision
        for resource, key in dirty:
            record = server.store.get(resource, key)
            if record is not None and is_deleting(record.value):
                _release(server, resource, record.value)
        return server.store.revision != before


def _release(server: ServerAccess, resource: str, obj: Json) -> None:
    finalizer = _FINALIZERS[resource]
    if finalizer not in finalizers_of(obj) or _is_used(server, resource, obj):
        return
    kept = [one for one in finalizers_of(obj) if one != finalizer]
    where = f"/namespaces/{namespace_of(obj)}" if resource == _CLAIMS else ""
    path = f"/api/v1{where}/{resource}/{name_of(obj)}"
    patch(server, path, {"metadata": {"finalizers": kept or None, "uid": uid_of(obj)}})


def _is_used(server: ServerAccess, resource: str, obj: Json) -> bool:
    if resource == _VOLUMES:
        return (obj.get("status") or {}).get("phase") == "Bound"
    pods = server.store.scan(_PODS, f"{namespace_of(obj)}/")
    return any(name_of(obj) in claims_of(record.value) for record in pods)


def claims_of(pod: Json) -> list[str]:
    """Return the names of the claims that a pod uses."""
    volumes = (pod.get("spec") or {}).get("volumes") or ()
    found = (volume.get("persistentVolumeClaim") or {} for volume in volumes)
    return [str(claim["claimName"]) for claim in found if claim.get("claimName")]
