"""The garbage collector: deletes objects whose owners are gone.

It keeps a graph of owners and dependents, by uid, from the changes that it observes.  An object is
checked again whenever it or one of its owners changes or is deleted:

- All owners are gone: the object is deleted.
- Some owners are gone: the references to those are removed.
- An owner with foreground deletion waits until the dependents that block it are gone.
- A cluster-scoped object refers to a namespaced owner: nothing is done, as the namespace of that
  owner is unknown.
- An owner that is deleted with ``Orphan`` first loses its references from its dependents.

An owner is gone if there is no object with its uid in the namespace of the dependent and none that
is cluster-scoped.  An owner in another namespace therefore counts as gone.  A reference to an
unknown kind is kept, and checked again when a definition changes: the kind may be served by then.
Events are not collected.
"""

from dataclasses import dataclass, field
from datetime import datetime

from myrmidon.api.objects.accessors import (
    Json,
    finalizers_of,
    is_deleting,
    namespace_of,
    owners_of,
    uid_of,
)
from myrmidon.api.objects.refs import split_api_version
from myrmidon.apiserver.actors.actor import ServerAccess
from myrmidon.apiserver.actors.objects import delete, patch, path_of
from myrmidon.apiserver.builtin.definitions import CRDS
from myrmidon.apiserver.resources.metadata import FOREGROUND, ORPHAN
from myrmidon.apiserver.resources.registry import ResourceType
from myrmidon.apiserver.store import StoredChange

_NOT_COLLECTED = frozenset({"events"})


@dataclass(slots=True)
class _Node:
    """An object in the graph."""

    resource: str
    value: Json
    dependents: dict[str, None] = field(default_factory=dict)


class GarbageCollector:
    """Deletes objects whose last owner is gone."""

    timed = False

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}
        self._waiting: dict[
            str, dict[str, None]
        ] = {}  # dependents of owners that are not in the graph
        self._dirty: dict[str, None] = {}

    # ----------------------------------------------------------------------- observing

    def observe(self, change: StoredChange) -> None:
        """Update the graph, and mark the objects that the change affects as dirty."""
        if change.resource in _NOT_COLLECTED:
            return
        if change.resource == CRDS:
            for dependents in self._waiting.values():
                self._dirty.update(dependents)
        uid = uid_of(change.record.value)
        if change.before is not None and uid_of(change.before.value) != uid:
            self._forget(uid_of(change.before.value))
        if change.deleted:
            self._forget(uid)
        else:
            self._learn(uid, change)

    def due(self) -> datetime | None:
        """Return None: this actor acts only on changes."""
        return None

    def _learn(self, uid: str, change: StoredChange) -> None:
        node = self._nodes.get(uid)
        if node is None:
            found = self._waiting.pop(uid, {})
            node = self._nodes[uid] = _Node(change.resource, change.record.value, found)
        else:
            self._unlink(uid, node)
            node.value = change.record.value
        owners = owners_of(node.value)
        for owner in owners:
            self._dependents(str(owner.get("uid")))[uid] = None
        if owners or is_deleting(node.value):
            self._dirty[uid] = None

    def _forget(self, uid: str) -> None:
        node = self._nodes.pop(uid, None)
        if node is None:
            return
        self._unlink(uid, node)
        if node.dependents:
            self._waiting[uid] = node.dependents
        self._dirty.update(node.dependents)

    def _unlink(self, uid: str, node: _Node) -> None:
        for owner in owners_of(node.value):
            owner_uid = str(owner.get("uid"))
            self._dependents(owner_uid).pop(uid, None)
            if owner_uid in self._nodes:
                self._dirty[owner_uid] = None  # it may have waited for this dependent
            elif not self._waiting.get(owner_uid):
                self._waiting.pop(owner_uid, None)

    def _dependents(self, owner_uid: str) -> dict[str, None]:
        node = self._nodes.get(owner_uid)
        return self._waiting.setdefault(owner_uid, {}) if node is None else node.dependents

    # ------------------------------------------------------------------------- acting

    def act(self, server: ServerAccess) -> bool:
        """Check every dirty object; return whether anything was written."""
        wrote = False
        storages = server.core.registry.storages() if self._dirty else {}
        while self._dirty:
            dirty, self._dirty = self._dirty, {}
            for uid in dirty:
                node = self._nodes.get(uid)
                if node is not None and node.resource in storages:
                    wrote = self._check(server, storages[node.resource], node) or wrote
        return wrote

    def _check(self, server: ServerAccess, resource_type: ResourceType, node: _Node) -> bool:
        if is_deleting(node.value):
            finalizers = finalizers_of(node.value)
            if FOREGROUND in finalizers:
                return self._finish_foreground(server, node, path_of(resource_type, node.value))
            if ORPHAN in finalizers:
                return self._finish_orphan(server, node, path_of(resource_type, node.value))
            return False
        owners = owners_of(node.value)
        if not owners:
            return False
        return self._collect(server, node, owners, resource_type)

    def _collect(
        self, server: ServerAccess, node: _Node, owners: list[Json], resource_type: ResourceType
    ) -> bool:
        """Delete the object if no owner is left; else remove references to owners that are gone."""
        if self._points_into_namespace(server, node):
            return False
        kept, blocking = [], False
        for owner in owners:
            state = self._owner_state(server, node, owner)
            if state == "solid":
                kept.append(owner)
            blocking = blocking or state == "waits"
        if len(kept) == len(owners):
            return False
        path = path_of(resource_type, node.value)
        if kept:
            patch(server, path, {"metadata": {"ownerReferences": kept, "uid": uid_of(node.value)}})
            return True
        if blocking and any(self._waits(uid) for uid in node.dependents):
            self._unblock(server, node, path)
        # If an owner waits for this object, the dependents of this object are deleted first, too.
        policy = "Foreground" if blocking and node.dependents else self._policy(node.value)
        delete(server, path, uid_of(node.value), policy)
        return True

    def _points_into_namespace(self, server: ServerAccess, node: _Node) -> bool:
        """Whether the object is cluster-scoped and refers to an owner of a namespaced kind.

        The reference does not say in which namespace, so whether the owner is gone is not known.
        """
        if namespace_of(node.value):
            return False
        for owner in owners_of(node.value):
            group, version = split_api_version(str(owner.get("apiVersion") or ""))
            found = server.core.registry.find_kind(group, version, str(owner.get("kind")))
            if found is not None and found.kind.namespaced:
                return True
        return False

    def _waits(self, uid: str) -> bool:
        """Whether an object is deleted in the foreground and waits for its dependents."""
        node = self._nodes.get(uid)
        if node is None:
            return False
        return is_deleting(node.value) and FOREGROUND in finalizers_of(node.value)

    def _unblock(self, server: ServerAccess, node: _Node, path: str) -> None:
        """Clear blockOwnerDeletion towards waiting owners.

        Otherwise objects that own each other would wait for each other forever.
        """
        freed = [
            {**owner, "blockOwnerDeletion": False} if self._waits(owner["uid"]) else owner
            for owner in owners_of(node.value)
        ]
        patch(server, path, {"metadata": {"ownerReferences": freed, "uid": uid_of(node.value)}})

    def _owner_state(self, server: ServerAccess, node: _Node, reference: Json) -> str:
        """Return the state of an owner: ``solid``, ``gone``, or ``waits`` for its dependents."""
        group, version = split_api_version(str(reference.get("apiVersion") or ""))
        if server.core.registry.find_kind(group, version, str(reference.get("kind"))) is None:
            return "solid"  # the kind is unknown, but may be installed again
        owner = self._nodes.get(str(reference.get("uid")))
        if owner is None or namespace_of(owner.value) not in ("", namespace_of(node.value)):
            return "gone"
        if owner.value.get("kind") != reference.get("kind"):
            return "gone"
        waits = self._waits(uid_of(owner.value)) and reference.get("blockOwnerDeletion")
        return "waits" if waits else "solid"

    def _policy(self, value: Json) -> str:
        if ORPHAN in finalizers_of(value):
            return "Orphan"
        return "Foreground" if FOREGROUND in finalizers_of(value) else "Background"

    def _finish_foreground(self, server: ServerAccess, node: _Node, path: str) -> bool:
        """Remove the finalizer of an owner if no dependent blocks its deletion any more."""
        uid = uid_of(node.value)
        blocking = False
        for dependent_uid in node.dependents:
            dependent = self._nodes[dependent_uid].value
            if not is_deleting(dependent):
                self._dirty[dependent_uid] = None
            for owner in owners_of(dependent):
                blocking = blocking or (
                    owner.get("uid") == uid and bool(owner.get("blockOwnerDeletion"))
                )
        if blocking:
            return False  # it is checked again when one of them changes
        return self._drop_finalizer(server, node.value, path, FOREGROUND)

    def _finish_orphan(self, server: ServerAccess, node: _Node, path: str) -> bool:
        """Remove the references to an owner from its dependents, then remove its finalizer."""
        uid = uid_of(node.value)
        storages = server.core.registry.storages()
        for dependent_uid in list(node.dependents):
            dependent = self._nodes[dependent_uid]
            kept = [owner for owner in owners_of(dependent.value) if owner.get("uid") != uid]
            where = path_of(storages[dependent.resource], dependent.value)
            changes = {"metadata": {"ownerReferences": kept or None, "uid": dependent_uid}}
            patch(server, where, changes)
        return self._drop_finalizer(server, node.value, path, ORPHAN)

    def _drop_finalizer(self, server: ServerAccess, value: Json, path: str, name: str) -> bool:
        left = [finalizer for finalizer in finalizers_of(value) if finalizer != name]
        patch(server, path, {"metadata": {"finalizers": left or None, "uid": uid_of(value)}})
        return True
