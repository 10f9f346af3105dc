"""The objects of the server, their revisions, and the history of changes.

All resources share one sequence of revisions.  Values are immutable and shared: a reader gets the
stored dict itself and must not change it.  A writer passes a dict that it does not use afterwards;
the store sets ``metadata.resourceVersion`` in it.

The store never waits.  A watch is a cursor, that is a revision: ``changes(after=cursor)`` returns
the changes since then.  A caller that wants to be woken registers a callable with ``listen``; a
simulator reads each watch when it chooses to.

The history is limited twice, in changes (``history_max``) and in bytes (``history_bytes_max``, the
size of the changed objects as JSON), so that many large updates cannot fill the memory.  A cursor
older than the oldest change in the history gets ``CompactedError``, which the server answers with
410.

A store may start with objects, given as a function for each resource (``Loaders``).  They have the
first revision, are read when the resource is used first, and are not part of the history.

While ``journal`` is set, the store notes in it which objects are read and written (``memo``).
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import orjson

from myrmidon.api.objects.accessors import Json, controller_of
from myrmidon.apiserver.golang import json as go_json

HISTORY_MAX = 100_000
HISTORY_BYTES_MAX = 64 * 1024 * 1024
FIRST_REVISION = 1


class CompactedError(Exception):
    """The requested revision is older than the history."""


class Record:
    """One object at one revision.

    ``cache`` belongs to the code that turns records into responses (``resources.representation``);
    ``cache_for`` is the resource type for which it was made.  ``content`` is the value as JSON
    without its resourceVersion, once it was asked for (``content_of``).
    """

    __slots__ = ("cache", "cache_for", "content", "key", "revision", "value")

    def __init__(self, key: str, revision: int, value: Json) -> None:
        self.key, self.revision, self.value = key, revision, value
        self.cache_for: Any = None
        self.cache: Any = None
        self.content: bytes | None = None

    def __repr__(self) -> str:
        return f"Record({self.key!r}, {self.revision})"


Loaders: TypeAlias = Mapping[str, Callable[[], dict[str, Record]]]
"""The objects that a store starts with: by resource, a function that returns them by key."""


def content_of(record: Record) -> bytes:
    """Return the value as JSON without its resourceVersion; raise ``TypeError`` if it has no such form.

    Two records with the same content differ in nothing that a request can see, except the
    resourceVersion.  orjson is used as it is: it prints ``1`` and ``1.0`` differently, Go does not.
    """
    if record.content is None:
        metadata = {**record.value["metadata"], "resourceVersion": ""}
        record.content = orjson.dumps({**record.value, "metadata": metadata})
    return record.content


class Journal:
    """What one request reads and writes in the store.

    ``is_whole`` is False if the request also depends on what the journal does not hold: an earlier
    revision, or an object that the request itself has written before.
    """

    __slots__ = ("gets", "is_whole", "scans", "writes")

    def __init__(self) -> None:
        self.gets: dict[tuple[str, str], Record | None] = {}
        self.scans: dict[tuple[str, str], list[Record]] = {}
        self.writes: list[StoredChange] = []
        self.is_whole = True


class StoredChange:
    """One write: the object before (None if it was created) and after it.

    After a delete, ``record`` is the last state of the object with the revision of the delete.
    """

    __slots__ = ("before", "controller", "deleted", "record", "resource", "revision", "size")

    def __init__(
        self, resource: str, record: Record, before: Record | None, deleted: bool, size: int = 0
    ) -> None:
        self.resource, self.record, self.before, self.deleted = resource, record, before, deleted
        self.controller = controller_of(record.value)  # the owner reference, or None
        self.size = size or go_json.size_of(record.value)
        self.revision = record.revision

    def __repr__(self) -> str:
        verb = "deleted" if self.deleted else "changed" if self.before else "created"
        return f"Change({self.revision}: {verb} {self.resource} {self.record.key})"


class _Collection:
    """All objects of one resource, by key and in key order, and their history."""

    __slots__ = ("history", "keys", "listeners", "records")

    load: Callable[[], dict[str, Record]] | None = None  # not None until the objects are read

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.keys: list[str] = []
        self.history: deque[StoredChange] = deque()
        self.listeners: dict[int, Callable[[], None]] = {}

    def below(self, prefix: str) -> list[Record]:
        if not prefix:
            return [self.records[key] for key in self.keys]
        start = bisect_left(self.keys, prefix)
        end = bisect_left(self.keys, prefix[:-1] + chr(ord(prefix[-1]) + 1))
        return [self.records[key] for key in self.keys[start:end]]

    def since(self, revision: int) -> list[StoredChange]:
        return _newer(self.history, revision)


class _Unread(_Collection):
    """The objects that a store starts with, of one resource; read when ``records`` is used first."""

    __slots__ = ("load",)

    def __init__(self, load: Callable[[], dict[str, Record]]) -> None:
        self.load = load
        self.history = deque()
        self.listeners = {}

    def __getattr__(self, name: str) -> Any:
        # Called for a slot without a value: later uses cost nothing.
        if name not in {"records", "keys"}:
            raise AttributeError(name)
        assert self.load is not None, "both slots get their values here, once"
        self.records = self.load()
        self.keys = sorted(self.records)
        self.load = None
        return self.records if name == "records" else self.keys


class StoreCheckpoint:
    """The objects of a store at one moment, for ``ObjectStore.rollback``.

    ``unread``: the objects that the store started with and that were not read until then.
    """

    __slots__ = ("records", "revision", "unread")

    def __init__(
        self, revision: int, records: dict[str, dict[str, Record]], unread: Loaders
    ) -> None:
        self.revision, self.records, self.unread = revision, records, unread

    def changes(self) -> list[StoredChange]:
        """Return a creation for each object, in the order of revisions, for actors to observe.

        Actors never observe the objects that a store starts with.
        """
        made = [
            StoredChange(resource, record, None, deleted=False)
            for resource, records in self.records.items()
            for record in records.values()
            if record.revision > FIRST_REVISION
        ]
        return sorted(made, key=lambda change: change.revision)


class ObjectStore:
    """The objects of all resources.  A resource is named like ``widgets.example.com``."""

    def __init__(
        self,
        *,
        history_max: int = HISTORY_MAX,
        history_bytes_max: int = HISTORY_BYTES_MAX,
        first_revision: int = FIRST_REVISION,
        start: Loaders = MappingProxyType({}),
    ) -> None:
        self.revision = first_revision
        self.compacted = first_revision  # changes up to this revision are gone from the history
        self._history_max, self._history_bytes_max = history_max, history_bytes_max
        self._history_bytes = 0
        self._history: deque[StoredChange] = deque()
        self._collections: dict[str, _Collection] = {
            resource: _Unread(load) for resource, load in start.items()
        }
        self._listener_ids = 0
        self._everywhere: dict[int, Callable[[], None]] = {}
        self.journal: Journal | None = None

    # ------------------------------------------------------------------------- reading

    def get(self, resource: str, key: str) -> Record | None:
        """Return one object, or None.  ``key`` is made by ``ResourceType.key``."""
        collection = self._collections.get(resource)
        record = collection.records.get(key) if collection is not None else None
        if self.journal is not None:
            self.journal.gets[resource, key] = record
            self.journal.is_whole &= not self.journal.writes
        return record

    def scan(self, resource: str, prefix: str = "", *, at: int | None = None) -> list[Record]:
        """Return the objects whose keys start with ``prefix``, in key order.

        With ``at``, return them as they were at that revision; raise ``CompactedError`` if it is
        too old.
        """
        collection = self._collections.get(resource)
        if at is not None and at < self.compacted:
            raise CompactedError
        records = collection.below(prefix) if collection is not None else []
        if self.journal is not None:
            self.journal.scans[resource, prefix] = records
            self.journal.is_whole &= at is None and not self.journal.writes
        if collection is None:
            return []
        if at is None or at >= self.revision:
            return records
        return _undo(records, collection.since(at), prefix)

    def count(self, resource: str) -> int:
        """Return the number of objects of a resource."""
        collection = self._collections.get(resource)
        return len(collection.records) if collection is not None else 0

    def written(self) -> list[Json]:
        """Return all objects except those that the store started with, by resource and key."""
        return [
            record.value
            for _, found in sorted(self._collections.items())
            if found.load is None
            for record in found.below("")
            if record.revision > FIRST_REVISION
        ]

    def changes(self, resource: str, *, after: int) -> list[StoredChange]:
        """Return the changes of a resource after a revision, oldest first."""
        if after < self.compacted:
            raise CompactedError
        collection = self._collections.get(resource)
        return collection.since(after) if collection is not None else []

    def all_changes(self, *, after: int) -> list[StoredChange]:
        """Return the changes of all resources after a revision, oldest first."""
        if after < self.compacted:
            raise CompactedError
        return _newer(self._history, after)

    def last_change(self) -> StoredChange:
        """Return the newest change; there must be one in the history."""
        return self._history[-1]

    # ------------------------------------------------------------------------- writing

    def put(self, resource: str, key: str, value: Json) -> Record:
        """Create or replace an object.  The caller must not use ``value`` afterwards."""
        collection = self._collections.setdefault(resource, _Collection())
        self.revision += 1
        value["metadata"]["resourceVersion"] = str(self.revision)
        record = Record(key, self.revision, value)
        self._put(resource, collection, record)
        return record

    def put_again(self, resource: str, record: Record, size: int) -> None:
        """Store a record that was prepared for the next revision; ``size`` is that of its value."""
        assert record.revision == self.revision + 1, "the record is not for the next revision"
        self.revision += 1
        self._put(resource, self._collections.setdefault(resource, _Collection()), record, size)

    def _put(self, resource: str, collection: _Collection, record: Record, size: int = 0) -> None:
        before = collection.records.get(record.key)
        if before is None:
            insort(collection.keys, record.key)
        collection.records[record.key] = record
        self._remember(collection, StoredChange(resource, record, before, deleted=False, size=size))

    def remove(self, resource: str, key: str) -> Record:
        """Delete an object; return its last state with the revision of the delete."""
        collection = self._collections[resource]
        before = collection.records.pop(key)
        del collection.keys[bisect_left(collection.keys, key)]
        self.revision += 1
        metadata = {**before.value["metadata"], "resourceVersion": str(self.revision)}
        record = Record(key, self.revision, {**before.value, "metadata": metadata})
        self._remember(collection, StoredChange(resource, record, before, deleted=True))
        return record

    def checkpoint(self) -> StoreCheckpoint:
        """Return the current objects; the checkpoint stays as it is when they change."""
        records: dict[str, dict[str, Record]] = {}
        unread: dict[str, Callable[[], dict[str, Record]]] = {}
        for name, found in self._collections.items():
            if found.load is not None:
                unread[name] = found.load
            elif found.records:
                records[name] = dict(found.records)
        return StoreCheckpoint(self.revision, records, unread)

    def rollback(self, checkpoint: StoreCheckpoint) -> None:
        """Hold the objects of the checkpoint again, with an empty history and no listeners.

        Records are values and are shared, so this costs as much as copying a few dicts: a simulator
        starts each run from the same checkpoint.
        """
        self.revision = self.compacted = checkpoint.revision
        self._history.clear()
        self._history_bytes = 0
        self._everywhere = {}
        self._collections = {name: _Unread(load) for name, load in checkpoint.unread.items()}
        for name, records in checkpoint.records.items():
            collection = self._collections[name] = _Collection()
            collection.records = dict(records)
            collection.keys = sorted(records)

    def compact(self, revision: int) -> None:
        """Drop the changes up to a revision from the history."""
        while self._history and self._history[0].revision <= revision:
            self._forget()
        self.compacted = max(self.compacted, min(revision, self.revision))

    def _remember(self, collection: _Collection, change: StoredChange) -> None:
        if self.journal is not None:
            self.journal.writes.append(change)
        self._history.append(change)
        collection.history.append(change)
        self._history_bytes += change.size
        while (
            len(self._history) > self._history_max or self._history_bytes > self._history_bytes_max
        ):
            self._forget()
        for wake in tuple(collection.listeners.values()):
            wake()
        for wake in tuple(self._everywhere.values()):
            wake()

    def _forget(self) -> None:
        oldest = self._history.popleft()
        self._collections[oldest.resource].history.popleft()
        self._history_bytes -= oldest.size
        self.compacted = oldest.revision

    # ------------------------------------------------------------------------- listeners

    def listen(self, wake: Callable[[], None], resource: str | None = None) -> Callable[[], None]:
        """Call ``wake`` after every change, or those of one resource; return a function to stop."""
        self._listener_ids += 1
        listener = self._listener_ids
        listeners = (
            self._everywhere
            if resource is None
            else self._collections.setdefault(resource, _Collection()).listeners
        )
        listeners[listener] = wake
        return lambda: listeners.pop(listener, None) and None


def _newer(history: deque[StoredChange], revision: int) -> list[StoredChange]:
    """Return the changes after a revision, oldest first.

    Reads the history from its end, so that it is cheap for a cursor that is nearly up to date.
    """
    found: list[StoredChange] = []
    for change in reversed(history):
        if change.revision <= revision:
            break
        found.append(change)
    found.reverse()
    return found


def _undo(records: list[Record], changes: list[StoredChange], prefix: str) -> list[Record]:
    """Return the records as they were before the changes."""
    past = {record.key: record for record in records}
    for change in reversed(changes):
        if not change.record.key.startswith(prefix):
            continue
        if change.before is None:
            past.pop(change.record.key, None)
        else:
            past[change.record.key] = change.before
    return [past[key] for key in sorted(past)]
