"""An open watch: a cursor over the history of one resource.

A watch holds the revision up to which its client has received all events.  ``take`` asks the store
for the changes after that revision and returns them as lines.  It never waits: the owner of the
watch decides when to call it, so a simulator can let one watch lag while others are up to date.

Events are relative to the selectors of the watch: an object that starts to match is ADDED, one that
stops matching is DELETED (in its last matching state, with the revision of the change), and a
change of an object that matches neither before nor after produces no event.

If the history no longer reaches back to the cursor, the watch ends with an ERROR line that holds
the Status of a 410, as on the real server.  A bookmark moves the cursor to the current revision; it
is sent only if the revision has moved since the last bookmark.
"""

from collections.abc import Callable

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.refusals.failures import Failure
from myrmidon.apiserver.resources import representation
from myrmidon.apiserver.resources.conversions import ConversionNeeded
from myrmidon.apiserver.resources.registry import ResourceType
from myrmidon.apiserver.resources.selection import Selection
from myrmidon.apiserver.store import CompactedError, ObjectStore, Record, StoredChange

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
Encoder = Callable[[ResourceType, Record], bytes]


def with_newline(line: bytes) -> bytes:
    """Return an event as a line of text, which is how JSON events are sent."""
    return line + b"\n"


class OpenWatch:
    """An open watch.  ``over`` is set when the server will not send any more events."""

    def __init__(
        self,
        store: ObjectStore,
        resource_type: ResourceType,
        *,
        namespace: str,
        name: str,
        selection: Selection,
        cursor: int,
        encode: Encoder = representation.encoded,
        bookmarks: bool = False,
        seconds: float | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.store, self.type, self.seconds, self.headers = store, resource_type, seconds, headers
        self.bookmarks = bookmarks
        self.cursor = cursor
        self.over = False
        self.frame: Callable[[bytes], bytes] = with_newline
        """Returns an event line in the form in which it is sent."""
        self._prefix = resource_type.prefix(namespace)
        self._name, self._selection, self._encode = name, selection, encode
        self._waiting: list[bytes] = []
        self._bookmarked = cursor

    @property
    def resource(self) -> str:
        """The resource to listen to in the store."""
        return self.type.stored_as

    def begin(self, *, end_mark: bool) -> None:
        """Start with an ADDED event for every existing object.

        ``end_mark`` adds the bookmark that ends the initial events.
        """
        with go_json.DeepStack():
            self._begin()
        self.cursor = self._bookmarked = self.store.revision
        if end_mark:
            self._waiting.append(self._bookmark({INITIAL_EVENTS_END: "true"}))

    def _begin(self) -> None:
        existing = self.store.scan(self.resource, self._prefix)
        representation.read_together(self.type, existing)
        for record in existing:
            obj = representation.shown(self.type, record)
            if self._concerns(record) and self._selection.matches(self.type, obj):
                self._waiting.append(self._line("ADDED", record))

    def take(self, until: int | None = None) -> list[bytes]:
        """Return the event lines since the last call; with ``until``, up to that revision."""
        lines = self.waiting()
        if self.over or self.cursor == self.store.revision:
            return lines
        try:
            changes = self.store.changes(self.resource, after=self.cursor)
        except CompactedError:
            lines.append(self.fail(self._expired()))
            return lines
        if until is not None:
            changes = [change for change in changes if change.revision <= until]
        try:
            with go_json.DeepStack():
                for change in changes:
                    line = self._event(change)
                    if line is not None:
                        lines.append(line)
                    self.cursor = change.revision
        except ConversionNeeded:
            self._waiting = lines
            raise
        except Failure as failure:
            lines.append(self.fail(failure))
        return lines

    def waiting(self) -> list[bytes]:
        """Return the lines that are ready although a later one waits for a webhook."""
        lines, self._waiting = self._waiting, []
        return lines

    def fail(self, failure: Failure) -> bytes:
        """End the watch; return the line that says why."""
        self.over = True
        return go_json.encode({"type": "ERROR", "object": failure.to_json()})

    def bookmark(self) -> bytes | None:
        """Return a bookmark line, or None if the revision has not moved since the last bookmark."""
        now = self.store.revision
        if not self.bookmarks or now <= self._bookmarked:
            return None
        self.cursor = self._bookmarked = now
        return self._bookmark({})

    def _concerns(self, record: Record) -> bool:
        if not record.key.startswith(self._prefix):
            return False
        return not self._name or record.value["metadata"]["name"] == self._name

    def _event(self, change: StoredChange) -> bytes | None:
        if not self._concerns(change.record):
            return None
        before, matches = change.before, self._selection.matches
        if self._selection.is_everything:
            was, now = before is not None, not change.deleted
        else:
            was = before is not None and matches(self.type, representation.shown(self.type, before))
            now = not change.deleted and matches(
                self.type, representation.shown(self.type, change.record)
            )
        if now:
            return self._line("MODIFIED" if was else "ADDED", change.record)
        if not was:
            return None
        if change.deleted or before is None:
            if before is not None:
                representation.inherit(change.record, before)
            return self._line("DELETED", change.record)
        return self._line("DELETED", _at(before, change.revision))

    def _line(self, event: str, record: Record) -> bytes:
        return b'{"type":"%b","object":%b}' % (event.encode(), self._encode(self.type, record))

    def _bookmark(self, annotations: dict[str, str]) -> bytes:
        meta: Json = {"resourceVersion": str(self.cursor)}
        if annotations:
            meta["annotations"] = annotations
        kind = self.type.kind
        obj = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta}
        record = Record("", self.cursor, obj)
        representation.remember(self.type, record, obj)
        return self._line("BOOKMARK", record)

    def _expired(self) -> Failure:
        return Failure(
            410,
            "Expired",
            f"too old resource version: {self.cursor} ({self.store.compacted + 1})",
            details=False,
        )


def _at(record: Record, revision: int) -> Record:
    """Return an earlier state with a new revision, for an object that no longer matches."""
    metadata = {**record.value["metadata"], "resourceVersion": str(revision)}
    return Record(record.key, revision, {**record.value, "metadata": metadata})
