"""Field ownership after a create, update or patch: the writer owns the fields that it changed."""

from datetime import datetime
from typing import Any, NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.timestamps import write_time
from myrmidon.apiserver.fields import entries
from myrmidon.apiserver.fields.comparing import Comparison, compare
from myrmidon.apiserver.fields.entries import EntryError, FieldManager, Owned
from myrmidon.apiserver.fields.fieldset import (
    FieldSet,
    Node,
    difference,
    intersection,
    union,
)
from myrmidon.apiserver.fields.listing import ShapeError
from myrmidon.apiserver.fields.reconciling import reconciled
from myrmidon.apiserver.fields.versions import NO_RESET, ResetFields, Versions

_IDENTITY = (
    "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation",
    "managedFields", "resourceVersion",
)  # fmt: skip

UNOWNED = FieldSet.of(
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(("f:metadata", f"f:{name}") for name in _IDENTITY),
).node  # fields that identify an object have no owner


class FieldWrite(NamedTuple):
    """The manager that writes, the time, and the fields that the server resets."""

    who: FieldManager
    now: datetime
    reset: ResetFields = NO_RESET


def after_update(
    live: Json | None,
    new: Json,
    versions: Versions,
    *,
    manager: str,
    now: datetime,
    subresource: str = "",
    reset: ResetFields = NO_RESET,
    blank: Json | None = None,
) -> list[Json]:
    """Return the managedFields of a written object; ``live`` is None if it is new.

    ``new`` is the object as decoded and defaulted, before the server resets the fields that this
    write cannot change.  ``blank`` is the object of that kind before its first write (``blanks``).
    """
    before = (live or {}).get("metadata", {}).get("managedFields")
    sent = new.get("metadata", {}).get("managedFields")
    try:
        owners = _owners(before, None if subresource else sent)
        if not owners and live is not None:
            return []  # the client reset them, so they are not tracked
        if sent is not before:
            new = {**new, "metadata": {**new.get("metadata", {}), "managedFields": before}}
        old = live if live is not None else blank or {"apiVersion": versions.api_version}
        changes = Changes(old, new, versions, reset)
        if before and entries.are_of(owners, before) and not changes.here:
            return before  # type: ignore[no-any-return]
        who = entries.updater(manager, versions.api_version, subresource)
        owners = updated(owners, changes, FieldWrite(who, now, reset))
    except (ShapeError, EntryError):
        # The owners cannot be determined, so no field has one; the write itself may still be valid.
        return []
    return entries.write(owners)


def _owners(before: Any, sent: Any) -> dict[FieldManager, Owned]:
    """Return the owners before the write: the live object's, unless the client sends others."""
    if sent is None or sent is before or sent == before:
        return entries.read(before)
    if entries.is_reset(sent):
        return {}
    try:
        owners = entries.read(sent, trusted=False)
    except EntryError:
        return entries.read(before)
    return owners or entries.read(before)


def updated(
    owners: dict[FieldManager, Owned], changes: "Changes", write: FieldWrite
) -> dict[FieldManager, Owned]:
    """Return the owners after a manager made these changes."""
    api_version = changes.versions.api_version
    owners = changes.taken_from(reconciled_owners(owners, changes.versions))
    taken = difference(changes.here.written(), UNOWNED)
    if taken:
        previous = owners.get(write.who)
        fields = union(taken, previous.fields) if previous else taken
        owners[write.who] = Owned(fields, api_version, write_time(write.now))
    return entries.capped(owners)


def reconciled_owners(
    owners: dict[FieldManager, Owned], versions: Versions
) -> dict[FieldManager, Owned]:
    """Return the owners under the current schemas, without versions that are not served."""
    result = {}
    for manager, owned in owners.items():
        shape = versions.shape(owned.api_version)
        if shape is not None:
            result[manager] = owned.with_fields(reconciled(owned.fields, shape))
    return result


class Changes:
    """The changes between two objects, in each API version in which a manager owns fields."""

    def __init__(self, old: Json, new: Json, versions: Versions, reset: ResetFields) -> None:
        self.versions = versions
        self._old, self._new, self._reset = old, new, reset
        here = self._at(versions.api_version)
        assert here is not None, f"{versions.api_version} has no schema"
        self.here = here
        self._written = {versions.api_version: here.written()}
        self._lost = {
            versions.api_version: union(here.removed, self._written[versions.api_version])
        }

    def _at(self, api_version: str) -> Comparison | None:
        """Return the comparison in a version; None if it is not served."""
        shape = self.versions.shape(api_version)
        if shape is None:
            return None
        old = self.versions.convert_to(self._old, api_version)
        new = self.versions.convert_to(self._new, api_version)
        return compare(old, new, shape).filtered(self._reset.rest)

    def _know(self, api_version: str) -> bool:
        """Compare in a version unless that was done; return False if it is not served."""
        if api_version not in self._lost:
            change = self._at(api_version)
            if change is None:
                return False
            self._written[api_version] = change.written()
            self._lost[api_version] = union(change.removed, change.written())
        return True

    def conflicts(self, owned: Owned) -> Node:
        """Return the fields of an owner that the change writes."""
        if not self._know(owned.api_version):
            return {}
        return intersection(owned.fields, self._written[owned.api_version])

    def taken_from(
        self, owners: dict[FieldManager, Owned], but: FieldManager | None = None
    ) -> dict[FieldManager, Owned]:
        """Return the owners without the fields that the change took; ``but`` made the change."""
        result = {}
        for manager, owned in owners.items():
            if manager == but:
                result[manager] = owned
            elif self._know(owned.api_version):
                fields = difference(owned.fields, self._lost[owned.api_version])
                if fields:
                    result[manager] = owned.with_fields(fields)
        return result
