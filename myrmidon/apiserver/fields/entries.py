"""The entries of ``metadata.managedFields``: which manager owns which fields, and since when.

A manager is identified by its name, its operation (Apply or Update), the subresource and, for
updates, the API version.  An entry that a write does not affect is kept byte for byte.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.fields.elements import ElementError
from myrmidon.apiserver.fields.fieldset import FieldSet, Node, union

UPDATE_MANAGERS_MAX = 10  # with more than these, the oldest are merged
_ANCIENT = "ancient-changes"


class FieldManager(NamedTuple):
    """The identity of a manager.  An Apply has no version: it is one manager in all versions."""

    name: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    def __str__(self) -> str:
        text = f'"{self.name}"'
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        return f"{text} using {self.api_version}" if self.operation == "Update" else text


def updater(name: str, api_version: str, subresource: str = "") -> FieldManager:
    """Return a manager that writes by create, update and patch."""
    return FieldManager(name or "unknown", "Update", api_version, subresource)


def applier(name: str, subresource: str = "") -> FieldManager:
    """Return a manager that writes by server-side apply."""
    return FieldManager(name or "unknown", "Apply", "", subresource)


class Owned(NamedTuple):
    """The fields that one manager owns, in the schema of one version."""

    fields: Node
    api_version: str
    time: str = ""
    written: Json | None = None  # the JSON entry that it was read from

    def with_fields(self, fields: Node) -> "Owned":
        """Return a copy with other fields."""
        return self if fields is self.fields else Owned(fields, self.api_version, self.time)

    def to_json(self, manager: FieldManager) -> Json:
        """Return the entry as JSON, with the keys in the order of the real server."""
        if self.written is not None:
            return self.written
        entry: Json = {
            "manager": manager.name,
            "operation": manager.operation,
            "apiVersion": self.api_version,
        }
        if self.time:
            entry["time"] = self.time
        entry |= {"fieldsType": "FieldsV1", "fieldsV1": self.fields}
        if manager.subresource:
            entry["subresource"] = manager.subresource
        return entry


class EntryError(ValueError):
    """``managedFields`` cannot be decoded."""


def is_reset(entries: Any) -> bool:
    """Whether a client resets ownership, by sending an empty list or one empty entry."""
    return isinstance(entries, list) and entries in ([], [{}])


def read(entries: Iterable[Json] | None, *, trusted: bool = True) -> dict[FieldManager, Owned]:
    """Return the entries of an object by manager; raise ``EntryError`` if they are invalid.

    Entries that this server wrote are assumed to be in canonical form.
    """
    owners: dict[FieldManager, Owned] = {}
    for index, entry in enumerate(entries or ()):
        manager = _manager_of(entry, index)
        fields = entry.get("fieldsV1") or {}
        if trusted:
            owners[manager] = Owned(fields, entry["apiVersion"], entry.get("time") or "", entry)
            continue
        try:
            canonical = FieldSet.from_json(fields).node
        except ElementError as error:
            raise EntryError(f"error decoding set: {error}") from error
        owners[manager] = Owned(canonical, entry["apiVersion"], entry.get("time") or "")
    return owners


def are_of(owners: Mapping[FieldManager, Owned], entries: list[Json]) -> bool:
    """Whether the owners are exactly those of these entries."""
    return len(owners) == len(entries) and all(
        owned.written is entry for owned, entry in zip(owners.values(), entries, strict=True)
    )


def _manager_of(entry: Json, index: int) -> FieldManager:
    operation, version = entry.get("operation"), entry.get("apiVersion")
    if operation not in ("Apply", "Update"):
        raise EntryError("operation must be `Apply` or `Update`")
    if not version:
        raise EntryError("apiVersion must not be empty")
    if entry.get("fieldsType") != "FieldsV1":
        raise EntryError(f"invalid fieldsType in managed fields entry {index}")
    in_version = version if operation == "Update" else ""
    name, subresource = entry.get("manager") or "", entry.get("subresource") or ""
    return FieldManager(name, operation, in_version, subresource)


def write(owners: Mapping[FieldManager, Owned]) -> list[Json]:
    """Return the entries in the order of the real server: Apply first, then by time and name."""
    entries = [owned.to_json(manager) for manager, owned in owners.items()]
    if len(entries) > 1:
        entries.sort(key=_order)
    return entries


def _order(entry: Json) -> tuple[str, str, str, str, str]:
    return (
        entry["operation"],
        entry.get("time") or "",
        entry.get("manager") or "",
        entry["apiVersion"],
        entry.get("subresource") or "",
    )


def capped(owners: dict[FieldManager, Owned]) -> dict[FieldManager, Owned]:
    """Merge the oldest updaters of a version into one nameless entry if there are too many."""
    updaters = [manager for manager in owners if manager.operation == "Update"]
    excess = len(updaters) - UPDATE_MANAGERS_MAX
    if excess <= 0:
        return owners
    updaters.sort(key=lambda manager: (owners[manager].time, manager))
    kept, first_of_version = dict(owners), dict[str, FieldManager]()
    for manager in updaters:
        if excess <= 0:
            break
        owned = owners[manager]
        first = first_of_version.setdefault(owned.api_version, manager)
        if first is manager:
            continue
        bucket = updater(_ANCIENT, owned.api_version)
        if bucket not in kept:
            kept[bucket] = kept.pop(first)
        fields = union(owned.fields, kept[bucket].fields)
        del kept[manager]
        kept[bucket] = Owned(fields, owned.api_version, owned.time)
        excess -= 1
    return kept


def same_but_for_times(old: list[Json] | None, new: list[Json] | None) -> bool:
    """Whether two lists of entries are equal apart from their times."""
    old, new = old or [], new or []
    return len(old) == len(new) and all(
        _timeless(was) == _timeless(now) for was, now in zip(old, new, strict=True)
    )


def _timeless(entry: Json) -> Json:
    return {key: value for key, value in entry.items() if key != "time"}
