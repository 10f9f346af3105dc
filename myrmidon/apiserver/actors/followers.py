"""What the stand-ins have in common: look again at whatever a change concerned."""

from collections.abc import Iterator
from datetime import datetime

from myrmidon.api.objects.accessors import Json, controller_of, name_of, namespace_of, uid_of
from myrmidon.api.values.equality import identical
from myrmidon.apiserver.actors.actor import ServerAccess
from myrmidon.apiserver.actors.objects import CONTROLLER_MANAGER, patch
from myrmidon.apiserver.store import StoredChange


class Follower:
    """Reconciles objects of one resource when they, or objects that they control, change."""

    resource = ""  # as the store names it
    kind = ""
    api_version = ""

    def __init__(self) -> None:
        self._dirty: dict[str, None] = {}

    def observe(self, change: StoredChange) -> None:
        """Remember the object, or the one that controls it."""
        value = change.record.value
        if change.resource == self.resource:
            if not change.deleted:
                self._dirty[change.record.key] = None
            return
        owner = controller_of(value)
        if owner is not None and owner.get("kind") == self.kind:
            self._dirty[f"{namespace_of(value)}/{owner['name']}"] = None

    def due(self) -> datetime | None:
        """None: it acts when an object changes, and at no other time."""
        return None

    def act(self, server: ServerAccess) -> bool:
        """Look at everything that a change concerned."""
        dirty, self._dirty = self._dirty, {}
        before = server.store.revision
        for key in dirty:
            record = server.store.get(self.resource, key)
            if record is not None:
                self.reconcile(server, record.value)
        return server.store.revision != before

    def reconcile(self, server: ServerAccess, obj: Json) -> None:
        """Do for one object what the built-in controller would."""
        raise NotImplementedError

    # ------------------------------------------------------------------------ for subclasses

    def children(self, server: ServerAccess, obj: Json, resource: str) -> Iterator[Json]:
        """The objects of a resource that this object controls, in the order of their names."""
        for record in server.store.scan(resource, f"{namespace_of(obj)}/"):
            owner = controller_of(record.value)
            if owner is not None and owner.get("uid") == uid_of(obj):
                yield record.value

    def owner_reference(self, obj: Json) -> Json:
        """What the children of an object carry."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": name_of(obj),
            "uid": uid_of(obj),
            "controller": True,
            "blockOwnerDeletion": True,
        }

    def path(self, obj: Json) -> str:
        """The path of an object of this resource."""
        plural = self.resource.partition(".")[0]
        return f"/apis/{self.api_version}/namespaces/{namespace_of(obj)}/{plural}/{name_of(obj)}"

    def write_status(self, server: ServerAccess, obj: Json, status: Json) -> None:
        """Write a status, if it says anything new; conditions of other writers stay."""
        current = obj.get("status") or {}
        if "conditions" in status:
            status = {**status, "conditions": _beside_others(current, status["conditions"])}
        if any(not identical(current.get(field), value) for field, value in status.items()):
            patch(server, f"{self.path(obj)}/status", {"status": status})


def _beside_others(current: Json, conditions: list[Json]) -> list[Json]:
    """The conditions in the order in which they are, with those of types that are not ours."""
    ours = {one["type"]: one for one in conditions}
    present = current.get("conditions") or ()
    kept = [ours.pop(one["type"], one) for one in present]
    return [*kept, *ours.values()]


def create(server: ServerAccess, path: str, manifest: Json) -> None:
    """Create a child, unless it is there."""
    server.request("POST", path, manifest, user=CONTROLLER_MANAGER)


def pods_path(obj: Json) -> str:
    """Where the pods of an object are created."""
    return f"/api/v1/namespaces/{namespace_of(obj)}/pods"


def pod_of(obj: Json, template: Json, reference: Json, **metadata: object) -> Json:
    """A pod made of a template."""
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
    """Whether the kubelet says that the pod is ready."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
