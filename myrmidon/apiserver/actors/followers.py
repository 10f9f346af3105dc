"""The base class of the simplified workload controllers, and functions to create pods.

A ``Follower`` marks an object as dirty when it, or an object that it controls, changes.  ``act``
then reconciles each dirty object once, whatever the number of changes.
"""

from collections.abc import Iterator
from datetime import datetime

from myrmidon.api.objects.accessors import (
    Json,
    controller_of,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    owners_of,
    uid_of,
)
from myrmidon.api.values.equality import identical
from myrmidon.apiserver.actors.actor import ServerAccess
from myrmidon.apiserver.actors.objects import CONTROLLER_MANAGER, patch
from myrmidon.apiserver.builtin.validation.common import selects
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.store import StoredChange

FORBIDDEN = 403
_LIMITS = ("resourcequotas", "limitranges")


class Follower:
    """Reconciles objects of one resource when they, or objects that they control, change."""

    resource = ""  # the name of the resource in the store, for example ``deployments.apps``
    kind = ""
    api_version = ""
    watched: tuple[str, ...] = _LIMITS  # see troupe: also its own resource, and what it controls
    timed = False

    def __init__(self) -> None:
        self._dirty: dict[str, None] = {}
        self._refused: dict[str, None] = {}  # objects one of whose children was refused

    def observe(self, change: StoredChange) -> None:
        """Mark the object, or the object that controls it, as dirty."""
        if change.resource == self.resource:
            if not change.deleted:
                self._dirty[change.record.key] = None
            return
        if change.resource in _LIMITS:
            self._dirty |= self._refused
            self._refused.clear()
            return
        owner = change.controller
        if owner is not None and owner.get("kind") == self.kind:
            self._dirty[f"{namespace_of(change.record.value)}/{owner['name']}"] = None

    def due(self) -> datetime | None:
        """Return None: this actor acts only on changes."""
        return None

    def act(self, server: ServerAccess) -> bool:
        """Reconcile every dirty object; return whether anything was written."""
        if not self._dirty:
            return False
        dirty, self._dirty = self._dirty, {}
        before = server.store.revision
        try:
            for key in tuple(dirty):
                record = server.store.get(self.resource, key)
                if record is not None:
                    self.reconcile(server, record.value)
                del dirty[key]
        finally:
            self._dirty |= dirty  # after an exception: tried again when the server settles next
        return server.store.revision != before

    def reconcile(self, server: ServerAccess, obj: Json) -> None:
        """Do for one object what the controller of Kubernetes would do."""
        raise NotImplementedError

    # ------------------------------------------------------------------------ for subclasses

    def create(self, server: ServerAccess, obj: Json, path: str, manifest: Json) -> str:
        """Create a child.  Return why it was refused by a quota or a limit, or ``""``.

        The object is reconciled again when a quota or a limit changes.
        """
        answer = server.request("POST", path, manifest, user=CONTROLLER_MANAGER)
        if answer.status != FORBIDDEN:
            return ""
        self._refused[f"{namespace_of(obj)}/{name_of(obj)}"] = None
        return str(go_json.decode(answer.body)["message"])

    def children(self, server: ServerAccess, obj: Json, resource: str) -> Iterator[Json]:
        """Yield the objects of a resource that this object controls, ordered by name."""
        for record in server.store.scan(resource, f"{namespace_of(obj)}/"):
            owner = controller_of(record.value)
            if owner is not None and owner.get("uid") == uid_of(obj):
                yield record.value

    def adopted(self, server: ServerAccess, obj: Json, resource: str) -> list[Json]:
        """Return the objects that this object controls, and adopt those that its selector matches.

        Only objects without a controller are adopted.  An object that does not match any more is
        released.
        """
        found: list[Json] = []
        selector, plural = obj["spec"].get("selector"), resource.partition(".")[0]
        group = "/api/v1" if resource == "pods" else "/apis/apps/v1"
        for record in server.store.scan(resource, f"{namespace_of(obj)}/"):
            value, owner = record.value, controller_of(record.value)
            matches = selects(selector, labels_of(value))
            owned = owner is not None and owner.get("uid") == uid_of(obj)
            if owned and matches:
                found.append(value)
            elif owned or (owner is None and matches and not is_deleting(value)):
                others = [each for each in owners_of(value) if each.get("uid") != uid_of(obj)]
                listed = others if owned else [*others, self.owner_reference(obj)]
                path = f"{group}/namespaces/{namespace_of(obj)}/{plural}/{name_of(value)}"
                meta = {"ownerReferences": listed or None, "uid": uid_of(value)}
                patch(server, path, {"metadata": meta})
                found += [] if owned else [value]
        return found

    def owner_reference(self, obj: Json) -> Json:
        """Return the controller reference for the children of an object."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": name_of(obj),
            "uid": uid_of(obj),
            "controller": True,
            "blockOwnerDeletion": True,
        }

    def path(self, obj: Json) -> str:
        """Return the URL path of an object of this resource."""
        plural = self.resource.partition(".")[0]
        return f"/apis/{self.api_version}/namespaces/{namespace_of(obj)}/{plural}/{name_of(obj)}"

    def write_status(self, server: ServerAccess, obj: Json, status: Json) -> None:
        """Write a status if a field of it differs; conditions of other writers stay."""
        current = obj.get("status") or {}
        if status.get("conditions"):
            status = {**status, "conditions": _beside_others(current, status["conditions"])}
        for field, value in status.items():
            if not identical(current.get(field), value):
                patch(server, f"{self.path(obj)}/status", {"status": status})
                return


def _beside_others(current: Json, conditions: list[Json]) -> list[Json]:
    """The conditions in the order in which they are, with those of types that are not ours."""
    ours = {one["type"]: one for one in conditions}
    present = current.get("conditions") or ()
    kept = [ours.pop(one["type"], one) for one in present]
    return [*kept, *ours.values()]


def pods_path(obj: Json) -> str:
    """Return the URL path at which the pods of an object are created."""
    return f"/api/v1/namespaces/{namespace_of(obj)}/pods"


def pod_of(obj: Json, template: Json, reference: Json, **metadata: object) -> Json:
    """Return the manifest of a pod that is created from a template."""
    described = template.get("metadata") or {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "labels": described.get("labels") or {},
            "annotations": described.get("annotations") or {},
            "namespace": namespace_of(obj),
            "ownerReferences": [reference],
            **metadata,
        },
        "spec": template.get("spec") or {},
    }


def is_pod_ready(pod: Json) -> bool:
    """Whether the Ready condition of the pod is true."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
