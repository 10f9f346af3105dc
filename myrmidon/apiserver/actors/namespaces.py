"""The namespace controller: empty a deleted namespace, and then remove it."""

from datetime import datetime

from myrmidon.api.objects.accessors import Json, is_deleting, name_of, namespace_of, uid_of
from myrmidon.apiserver.actors.actor import ServerAccess
from myrmidon.apiserver.actors.objects import CONTROLLER_MANAGER, delete, path_of
from myrmidon.apiserver.store import StoredChange

_FINALIZER = "kubernetes"


class NamespaceController:
    """Deletes all objects in a namespace that is being deleted, then removes its finalizer."""

    timed = False

    def __init__(self) -> None:
        self._terminating: dict[str, None] = {}
        self._dirty: dict[str, None] = {}

    def observe(self, change: StoredChange) -> None:
        """Mark a deleted namespace as dirty, and again when an object in it changes."""
        value = change.record.value
        if change.resource != "namespaces":
            if namespace_of(value) in self._terminating:
                self._dirty[namespace_of(value)] = None
            return
        if change.deleted:
            self._terminating.pop(name_of(value), None)
        elif is_deleting(value):
            self._terminating[name_of(value)] = self._dirty[name_of(value)] = None

    def due(self) -> datetime | None:
        """Return None: this actor acts only on changes."""
        return None

    def act(self, server: ServerAccess) -> bool:
        """Delete the objects of dirty namespaces, and finalize those that are empty."""
        dirty, self._dirty = self._dirty, {}
        wrote = False
        for name in dirty:
            if name in self._terminating:
                wrote = self._delete_contents(server, name) or wrote
        return wrote

    def _delete_contents(self, server: ServerAccess, name: str) -> bool:
        left = wrote = False
        for resource, resource_type in server.core.registry.storages().items():
            if not resource_type.kind.namespaced:
                continue
            for record in server.store.scan(resource, resource_type.prefix(name)):
                left = True
                if not is_deleting(record.value):
                    delete(server, path_of(resource_type, record.value), uid_of(record.value))
                    wrote = True
        if left:
            # Each removed object is a change that marks the namespace as dirty again.
            return wrote
        return self._finalize(server, name) or wrote

    def _finalize(self, server: ServerAccess, name: str) -> bool:
        record = server.store.get("namespaces", name)
        if record is None or _FINALIZER not in _spec_finalizers(record.value):
            return False
        left = [each for each in _spec_finalizers(record.value) if each != _FINALIZER]
        spec = {**(record.value.get("spec") or {}), "finalizers": left}
        body = {**record.value, "spec": spec}
        server.request("PUT", f"/api/v1/namespaces/{name}/finalize", body, user=CONTROLLER_MANAGER)
        return True


def _spec_finalizers(namespace: Json) -> list[str]:
    return (namespace.get("spec") or {}).get("finalizers") or []
