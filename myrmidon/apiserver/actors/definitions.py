"""The controllers of CustomResourceDefinitions: accept names, establish, serve and clean up.

As in the real server, these steps happen after the request that writes the definition was answered.

- Names that no other definition of the group uses are accepted.  A definition without conflicts is
  established, and its resource types are installed in the registry.
- When a definition is deleted, its finalizer keeps it until its last object is gone.  Objects with
  finalizers get a deletionTimestamp, and the definition waits for them.
- When a definition is gone, its resource types are removed from the registry.

The code that builds resource types is imported when the first definition is established, because
most servers never see one.
"""

from datetime import datetime
from typing import Any

from myrmidon.api.objects.accessors import Json, finalizers_of, is_deleting
from myrmidon.api.values.equality import identical
from myrmidon.api.values.timestamps import write_time
from myrmidon.apiserver.actors.actor import ServerAccess
from myrmidon.apiserver.builtin.definitions import CLEANUP, CRDS
from myrmidon.apiserver.requests.call import Core
from myrmidon.apiserver.resources.conditions import is_true, with_condition
from myrmidon.apiserver.store import Record, StoredChange

_IN_PROGRESS = (
    "Terminating",
    "True",
    "InstanceDeletionInProgress",
    "CustomResource deletion is in progress",
)
_ACCEPTED = ("NamesAccepted", "True", "NoConflicts", "no conflicts found")
_ESTABLISHED = (
    "Established",
    "True",
    "InitialNamesAccepted",
    "the initial names have been accepted",
)
_NOT_ESTABLISHED = ("Established", "False", "NotAccepted", "not all names are accepted")


class DefinitionLifecycle:
    """Accepts names, establishes and serves definitions, and cleans up after deleted ones."""

    timed = False

    def __init__(self) -> None:
        self._dirty: dict[str, None] = {}
        self._terminating: set[str] = set()  # deleted definitions that still have objects

    def observe(self, change: StoredChange) -> None:
        """Mark definitions as dirty that changed, or that wait for an object that was deleted."""
        if change.resource == CRDS:
            self._dirty[change.record.key] = None
            if change.deleted:
                self._terminating.discard(change.record.key)
            elif is_deleting(change.record.value):
                self._terminating.add(change.record.key)
        elif change.deleted and change.resource in self._terminating:
            self._dirty[change.resource] = None

    def reconsider(self, name: str) -> None:
        """Serve a definition again although it has not changed."""
        self._dirty[name] = None

    def act(self, server: ServerAccess) -> bool:
        """Reconcile the dirty definitions; return whether anything was written."""
        if not self._dirty:
            return False
        names = list(self._dirty)
        self._dirty.clear()
        wrote = False
        for name in names:
            wrote |= _reconcile(server.core, name)
        return wrote

    def due(self) -> datetime | None:
        """Return None: this actor acts only on changes."""
        return None


def _reconcile(core: Core, name: str) -> bool:
    record = core.store.get(CRDS, name)
    plural, _, group = name.partition(".")
    if record is None:
        core.registry.install((), group=group, plural=plural)
        return False
    definition = record.value
    if is_deleting(definition):
        return _clean_up(core, name, definition)
    status = _with_accepted_names(core, definition)
    if not identical(status, definition["status"]):
        core.store.put(
            CRDS, name, {**definition, "status": status, "metadata": dict(definition["metadata"])}
        )
    if is_true(status, "Established"):
        _serve(core, {**definition, "status": status})
    return not identical(status, definition["status"])


def _with_accepted_names(core: Core, definition: Json) -> Json:
    """Return the status with accepted names and the conditions that follow from them."""
    status: Json = definition.get("status") or {}
    now = write_time(core.environment.now())
    accepted, problem = _accept(core, definition, status.get("acceptedNames") or {})
    status = {**status, "acceptedNames": accepted}
    if problem is None:
        return with_condition(with_condition(status, now, _ACCEPTED), now, _ESTABLISHED)
    status = with_condition(status, now, ("NamesAccepted", "False", *problem))
    return (
        status if is_true(status, "Established") else with_condition(status, now, _NOT_ESTABLISHED)
    )


def _accept(core: Core, definition: Json, accepted: Json) -> tuple[Json, tuple[str, str] | None]:
    """Return the accepted names, and (reason, message) of the last conflict or None."""
    resources, kinds = _taken_names(core, definition)
    wanted, accepted = definition["spec"]["names"], dict(accepted)
    problem: tuple[str, str] | None = None
    for field, taken in (
        ("plural", resources),
        ("singular", resources),
        ("shortNames", resources),
        ("kind", kinds),
        ("listKind", kinds),
    ):
        value = wanted.get(field)
        names = value if isinstance(value, list) else [value]
        used = [name for name in names if name and name in taken]
        if used:
            problem = f"{field[0].upper()}{field[1:]}Conflict", f'"{used[0]}" is already in use'
        elif value:
            accepted[field] = value
        else:
            accepted.pop(field, None)
    if wanted.get("categories"):
        accepted["categories"] = wanted["categories"]
    return accepted, problem


def _taken_names(core: Core, definition: Json) -> tuple[set[str], set[str]]:
    """Return the names of resources and kinds that are accepted for other definitions.

    Only definitions of the same group can be in conflict.
    """
    resources: set[str] = set()
    kinds: set[str] = set()
    own = definition["metadata"]["name"]
    for record in core.store.scan(CRDS):
        other = record.value
        if other["spec"]["group"] != definition["spec"]["group"] or record.key == own:
            continue
        names: dict[str, Any] = (other.get("status") or {}).get("acceptedNames") or {}
        resources |= {names.get("plural", ""), names.get("singular", "")}
        resources |= set(names.get("shortNames") or ())
        kinds |= {names.get("kind", ""), names.get("listKind", "")}
    return resources, kinds


def _delete_instance(core: Core, resource: str, record: Record, now: str) -> None:
    value = record.value
    if not finalizers_of(value):
        core.store.remove(resource, record.key)
    elif not is_deleting(value):
        meta = {
            **value["metadata"],
            "deletionTimestamp": now,
            "deletionGracePeriodSeconds": 0,
            "generation": value["metadata"].get("generation", 0) + 1,
        }
        core.store.put(resource, record.key, {**value, "metadata": meta})


def _clean_up(core: Core, name: str, definition: Json) -> bool:
    """Delete the objects of a deleted definition; once all are gone, remove its finalizer."""
    if CLEANUP not in finalizers_of(definition):
        return False
    now = write_time(core.environment.now())
    status = with_condition(definition["status"], now, _IN_PROGRESS)
    if core.store.scan(name) and not identical(status, definition["status"]):
        meta = dict(definition["metadata"])
        core.store.put(CRDS, name, {**definition, "metadata": meta, "status": status})
        return True  # this change makes the definition dirty again
    for record in core.store.scan(name):
        _delete_instance(core, name, record, now)
    if core.store.scan(name):
        return False  # objects with finalizers are left
    plural, _, group = name.partition(".")
    core.registry.install((), group=group, plural=plural)
    left = [each for each in finalizers_of(definition) if each != CLEANUP]
    if left:
        meta = {**definition["metadata"], "finalizers": left}
        core.store.put(CRDS, name, {**definition, "metadata": meta})
    else:
        core.store.remove(CRDS, name)
    return True


def _serve(core: Core, definition: Json) -> None:
    from myrmidon.apiserver.custom.resource_types import served_types  # noqa: PLC0415 - see above

    names, group = definition["spec"]["names"], definition["spec"]["group"]
    types = served_types(definition, core.conversions)
    core.registry.install(types, group=group, plural=names["plural"])
