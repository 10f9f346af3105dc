"""Field ownership after a create, an update or a patch: who changes a field owns it."""

from datetime import datetime
from typing import Any, NamedTuple

from myrmidon.api.objects import Json
from myrmidon.apiserver.fields import entries
from myrmidon.apiserver.fields.comparing import Comparison, compare
from myrmidon.apiserver.fields.entries import EntryError, Manager, Owned
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
).node  # what makes an object this object belongs to nobody


class Write(NamedTuple):
    """Who writes, when, and which fields the write has no say in."""

    who: Manager
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
    """The managedFields of an object that was written; ``live`` is None for one that is new.

    ``new`` is the object as decoded and defaulted, before the server resets what this write has no
    say in.  ``blank`` is what an object of the kind looks like before anybody has written to it:
    structs of a built-in kind are there from the start and are nobody's.
    """
    before = (live or {}).get("metadata", {}).get("managedFields")
    try:
        owners = _owners(before, new, subresource)
        if not owners and live is not None:
            return []  # whoever cleared them does not want to have them tracked
        old = live if live is not None else blank or {"apiVersion": versions.api_version}
        who = entries.updater(manager, versions.api_version, subresource)
        owners = updated(owners, old, new, versions, Write(who, now, reset))
    except (ShapeError, EntryError):
        # Where ownership cannot be told, it stays; the write itself may still be fine.
        return before or []
    return entries.write(owners)


def _owners(before: Any, new: Json, subresource: str) -> dict[Manager, Owned]:
    """The owners before the write: those of the live object, unless the client sends others."""
    sent = new.get("metadata", {}).get("managedFields")
    if subresource or sent is None or sent is before:
        return entries.read(before)
    if entries.is_reset(sent):
        return {}
    if sent == before:
        return entries.read(before)
    try:
        owners = entries.read(sent, trusted=False)
    except EntryError:
        return entries.read(before)
    return owners or entries.read(before)


def updated(
    owners: dict[Manager, Owned],
    old: Json,
    new: Json,
    versions: Versions,
    write: Write,
) -> dict[Manager, Owned]:
    """The owners after a manager has put ``new`` into the place of ``old``."""
    owners = reconciled_owners(owners, versions)
    changes = Changes(old, new, versions, write.reset)
    change = changes.at(versions.api_version)
    assert change is not None, f"{versions.api_version} has no schema"
    owners = changes.taken_from(owners)
    taken = difference(change.written(), UNOWNED)
    if taken:
        previous = owners.get(write.who)
        fields = union(taken, previous.fields) if previous else taken
        owners[write.who] = Owned(fields, versions.api_version, entries.stamp(write.now))
    return entries.capped(owners)


def reconciled_owners(owners: dict[Manager, Owned], versions: Versions) -> dict[Manager, Owned]:
    """The owners in the terms of today's schemas, without those of versions that are gone."""
    result = {}
    for manager, owned in owners.items():
        shape = versions.shape(owned.api_version)
        if shape is not None:
            result[manager] = owned.with_fields(reconciled(owned.fields, shape))
    return result


class Changes:
    """What changes between two objects, in each version that somebody owns fields in."""

    def __init__(self, old: Json, new: Json, versions: Versions, reset: ResetFields) -> None:
        self._old, self._new, self._versions, self._reset = old, new, versions, reset
        self._made: dict[str, Comparison] = {}

    def at(self, api_version: str) -> Comparison | None:
        """The comparison in a version; None if it is not served."""
        made = self._made.get(api_version)
        if made is None:
            versions = self._versions
            shape = versions.shape(api_version)
            if shape is None:
                return None
            old = versions.convert_to(self._old, api_version)
            new = versions.convert_to(self._new, api_version)
            made = compare(old, new, shape)
            if self._reset is not NO_RESET:
                made = made.filtered(self._reset.rest)
            self._made[api_version] = made
        return made

    def conflicts(self, owned: Owned) -> Node:
        """The fields of an owner that the change writes to."""
        change = self.at(owned.api_version)
        return {} if change is None else intersection(owned.fields, change.written())

    def taken_from(
        self, owners: dict[Manager, Owned], but: Manager | None = None
    ) -> dict[Manager, Owned]:
        """The owners without what the change took from them; ``but`` one, who made the change."""
        result = {}
        for manager, owned in owners.items():
            if manager == but:
                result[manager] = owned
                continue
            change = self.at(owned.api_version)
            if change is None:
                continue
            fields = difference(owned.fields, change.modified)
            fields = difference(difference(fields, change.added), change.removed)
            if fields:
                result[manager] = owned.with_fields(fields)
        return result
