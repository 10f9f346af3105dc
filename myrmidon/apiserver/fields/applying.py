"""Server-side apply: from the live object and the configuration of one manager to the new object.

1. The configuration is checked against the schema and merged into the live object: maps key by key, lists by
   their keys if they are lists of type map or set, atomic values as a whole.
2. The manager owns what the configuration mentions.  A field that another manager owns with another value is a
   conflict, unless the value is the same (both own it then) or ``force`` takes it.
3. What the manager applied last time and no longer mentions is removed, if no other manager owns it.
4. Fields that the write does not decide (``resets``) have no new owner.

This is a pure function: it returns the new object and its new ``managedFields``.
"""

from datetime import datetime
from typing import Any, NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import same
from myrmidon.api.values.timestamps import write_time
from myrmidon.apiserver.fields import entries, last_applied
from myrmidon.apiserver.fields.checking import check
from myrmidon.apiserver.fields.conflicts import ApplyConflict, conflicts_of
from myrmidon.apiserver.fields.entries import EntryError, FieldManager, Owned
from myrmidon.apiserver.fields.fieldset import difference
from myrmidon.apiserver.fields.listing import ShapeError
from myrmidon.apiserver.fields.merging import merge
from myrmidon.apiserver.fields.owning import claimed
from myrmidon.apiserver.fields.pruning import pruned
from myrmidon.apiserver.fields.updating import (
    UNOWNED,
    Changes,
    FieldWrite,
    reconciled_owners,
    updated,
)
from myrmidon.apiserver.fields.versions import NO_RESET, ResetFields, Versions
from myrmidon.apiserver.refusals.failures import Failure

_BEFORE = "before-first-apply"


class Applied(NamedTuple):
    """The object, without managedFields and before defaulting, and its managedFields."""

    object: Json
    managed_fields: list[Json]


def after_apply(
    live: Json | None,
    applied: Json,
    versions: Versions,
    *,
    manager: str,
    now: datetime,
    force: bool = False,
    subresource: str = "",
    reset: ResetFields = NO_RESET,
    blank: Json | None = None,
) -> Applied:
    """Apply a configuration to the live object, or to a blank one if it is new.

    Raises ``ApplyConflict`` if other managers own a field that would change, and another
    ``Failure`` if the configuration does not fit the schema.
    """
    _refuse_bad_versions(applied, versions)
    try:
        owners = entries.read((live or {}).get("metadata", {}).get("managedFields"))
    except EntryError as error:
        raise _internal(f"failed to decode managed fields: {error}") from error
    start = blank or {"apiVersion": versions.api_version, "kind": applied.get("kind")}
    base = start if live is None else _without_entries(live)
    if not owners:
        before = entries.updater(_BEFORE, versions.api_version, subresource)
        start_to_base = Changes(start, base, versions, reset)
        owners = updated(owners, start_to_base, FieldWrite(before, now, reset))
    write = FieldWrite(entries.applier(manager, subresource), now, reset)
    apply = _Apply(base, applied, versions, write)
    try:
        result, owners = apply.run(owners, force=force)
    except ApplyConflict as conflict:
        if manager != last_applied.KUBECTL:
            raise
        known = last_applied.remembered(base, versions)
        rest = [found for found in conflict.conflicts if found.path not in known]
        if rest:
            raise ApplyConflict(rest) from conflict
        result, owners = apply.run(owners, force=True)
    if manager == last_applied.KUBECTL:
        result = last_applied.with_annotation(result, applied)
    return Applied(result, entries.write(owners))


class _Apply:
    """The state of one apply: the live object, the configuration and the manager."""

    def __init__(self, live: Json, applied: Json, versions: Versions, write: FieldWrite) -> None:
        self._live, self._applied, self._versions = live, applied, versions
        self._who, self._now, self._reset = write

    def run(
        self, owners: dict[FieldManager, Owned], *, force: bool
    ) -> tuple[Json, dict[FieldManager, Owned]]:
        """Return the new object and its owners."""
        versions, who = self._versions, self._who
        shape = versions.shape(versions.api_version)
        assert shape is not None, f"{versions.api_version} has no schema"
        try:
            check(self._applied, shape)
        except ShapeError as error:
            what = _described(self._applied)
            raise _internal(f"failed to create typed patch object ({what}): {error}") from error
        try:
            owners = reconciled_owners(owners, versions)
            merged = merge(self._live, self._applied, shape)
            last = owners.get(who)
            fields = self._reset.rest(claimed(self._applied, shape))
            owners[who] = Owned(fields, versions.api_version, last.time if last else "")
            result = pruned(merged, owners, last, versions)
            changes = Changes(self._live, result, versions, self._reset)
            owners = self._settled(changes, owners, force=force)
        except ShapeError as error:
            raise _internal(f"failed to merge config: {error}") from error
        if who in owners:
            time = owners[who].time if same(result, self._live) else write_time(self._now)
            owned = difference(owners[who].fields, UNOWNED)
            owners[who] = Owned(owned, versions.api_version, time)
            if not owned:
                del owners[who]
        return result, owners

    def _settled(
        self, changes: Changes, owners: dict[FieldManager, Owned], *, force: bool
    ) -> dict[FieldManager, Owned]:
        """Return the owners after the change; raise on a conflict unless ``force`` is set."""
        found = conflicts_of(changes, owners, self._who)
        if found and not force:
            raise ApplyConflict(found)
        return changes.taken_from(owners, but=self._who)


def _refuse_bad_versions(applied: Json, versions: Versions) -> None:
    version = applied.get("apiVersion")
    if version != versions.api_version:
        raise Failure(
            400,
            "BadRequest",
            "Incorrect version specified in apply patch. Specified patch version:"
            f" {version}, expected: {versions.api_version}",
            details=False,
        )
    if _metadata(applied).get("managedFields") is not None:
        message = "metadata.managedFields must be nil"
        raise Failure(400, "BadRequest", message, details=False)


def _metadata(obj: Json) -> Json:
    metadata: Any = obj.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _without_entries(live: Json) -> Json:
    metadata = {key: value for key, value in live["metadata"].items() if key != "managedFields"}
    return live | {"metadata": metadata}


def _described(obj: Json) -> str:
    group, _, version = str(obj.get("apiVersion")).rpartition("/")
    metadata = _metadata(obj)
    where = f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}"
    return f"{where}; {group}/{version}, Kind={obj.get('kind')}"


def _internal(message: str) -> Failure:
    """Return a 500 without a reason, as the real server answers for unclassified errors."""
    return Failure(500, "", message, details=False)
