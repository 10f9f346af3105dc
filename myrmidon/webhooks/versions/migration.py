"""Storage migration: which objects have to be written again, how far that is, and when it is done.

The API server stores an object in the storage version of the time at which it was written, and lists all versions
that it has ever stored in ``status.storedVersions`` of the definition.  A version can be removed from a definition
only if it is not in that list.  A migration therefore

1. lists all objects, page by page;
2. sends an empty patch for each of them.  The server applies it to the newest state of the object, so that an edit of
   another writer cannot be lost.  It stores the result if that differs from the stored bytes, and they do differ if
   the object is stored in another version.  For an object that is already in the storage version nothing is written;
3. removes the other versions from ``status.storedVersions``, if all objects were written and the definition is still
   the one that the migration began with: with another storage version, the work would have to be done again.

How far it is stands in the annotation ``storage-migration.myrmidon.dev/progress`` of the definition, after each page,
with the server's token for the next page.  A process that takes over continues there.  A token expires after some
minutes; then the list begins again, which writes nothing for objects that are done.
"""

import json
from typing import NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind

PROGRESS = "storage-migration.myrmidon.dev/progress"


class StorageMigration(NamedTuple):
    """The migration that a definition needs."""

    definition: str
    """The name of the definition."""
    kind: Kind
    """The kind in its storage version."""
    stale: tuple[str, ...]
    """The other versions in ``status.storedVersions``."""
    generation: int
    """The generation of the definition's spec."""
    listed: str
    """The version in which objects are listed: a stale one if it is served.  An object that cannot be converted
    would fail the list of the storage version; in other versions it has a placeholder (``placeholders``)."""


class MigrationProgress(NamedTuple):
    """How far a migration is."""

    token: str = ""
    """The server's token for the next page; ``""`` for the first."""
    seen: int = 0
    rewritten: int = 0
    failed: int = 0

    def told(self, remaining: int | None = None) -> str:
        """Return the progress for people."""
        total = "" if remaining is None else f" of {self.seen + remaining}"
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.seen}{total} objects seen, {self.rewritten} rewritten{failed}"


def migration_of(definition: Json) -> StorageMigration | None:
    """Return the migration that a definition needs; None if all objects are in the storage version."""
    spec, status = definition["spec"], definition.get("status") or {}
    storage = next(version["name"] for version in spec["versions"] if version.get("storage"))
    stale = tuple(name for name in status.get("storedVersions") or () if name != storage)
    if not stale:
        return None
    names = spec["names"]
    kind = Kind(
        spec["group"], storage, names["kind"], names["plural"], spec["scope"] == "Namespaced"
    )
    served = {version["name"] for version in spec["versions"] if version.get("served")}
    return StorageMigration(
        definition["metadata"]["name"],
        kind,
        stale,
        generation=int(definition["metadata"].get("generation") or 0),
        listed=next((name for name in stale if name in served), storage),
    )


def progress_of(definition: Json, migration: StorageMigration) -> MigrationProgress:
    """Return how far a migration is; the beginning if it was for another spec of the definition."""
    text = (definition["metadata"].get("annotations") or {}).get(PROGRESS)
    try:
        said = json.loads(text or "")
        if said["generation"] != migration.generation:
            return MigrationProgress()
        counts = [said[name] for name in ("seen", "rewritten", "failed")]
        if not isinstance(said["token"], str) or not all(type(each) is int for each in counts):
            return MigrationProgress()
        return MigrationProgress(said["token"], *counts)
    except (ValueError, KeyError, TypeError, RecursionError):
        return MigrationProgress()


def is_in_progress(definition: Json) -> bool:
    """Whether a definition records the progress of a migration."""
    return PROGRESS in (definition["metadata"].get("annotations") or {})


def progress_patch(
    progress: MigrationProgress | None, migration: StorageMigration | None = None
) -> Json:
    """Return the merge patch of a definition that records the progress of a migration; None removes it."""
    text = None
    if progress is not None and migration is not None:
        text = json.dumps({"generation": migration.generation, **progress._asdict()})
    return {"metadata": {"annotations": {PROGRESS: text}}}


def finishing_patch(definition: Json, migration: StorageMigration) -> Json | None:
    """Return the merge patch of the definition's status that ends a migration.

    None if the definition has changed since it began.  The patch holds the resourceVersion of the
    definition: a change meanwhile is a conflict.
    """
    if migration_of(definition) != migration:
        return None
    version = definition["metadata"]["resourceVersion"]
    return {
        "metadata": {"resourceVersion": version},
        "status": {"storedVersions": [migration.kind.version]},
    }
