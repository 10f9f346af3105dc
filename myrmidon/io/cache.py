"""Which facts about objects count: those of the list and watch, and those of our own writes.

Both arrive in any order, so each is judged by its version.  Versions of one kind of resource are
comparable numbers, and that is enough for four rules:

1  What is not newer than what is held is dropped: nothing ever goes back.
2  An own write is visible at once, and its echo through the watch changes nothing.
3  What we deleted stays deleted, although the watch may be behind and still tell of its life.
4  An own write that the watch has already passed is not brought back: if its object is not held,
   the watch has told of its end as well.
"""

import logging
from collections.abc import Callable, Mapping
from typing import TypeAlias

from myrmidon.api.objects import Json, finalizers_of, is_deleting, metadata
from myrmidon.api.refs import Kind, ObjectRef
from myrmidon.io.changes import (
    OPAQUE,
    Change,
    Listing,
    Source,
    WatchEvent,
    encode,
    parse_version,
    uid_in,
    version_in,
)
from myrmidon.io.indexes import IndexFunction, Key
from myrmidon.io.scope import Scope
from myrmidon.io.store import Store
from myrmidon.io.tombstones import Tombstones

Transform: TypeAlias = Callable[[Json], Json]
Changes: TypeAlias = list[Change]
Sighting: TypeAlias = tuple[Key, str, int]  # key, uid and version: what a fact is about

_log = logging.getLogger(__name__)


class Cache(Store):
    """The objects of one scope.  A reflector and our own writes fill it, everyone reads it."""

    def __init__(
        self,
        scope: Scope | Kind,
        *,
        indexes: Mapping[str, IndexFunction] | None = None,
        transform: Transform | None = None,
        keep_managed_fields: bool = False,
    ) -> None:
        self.scope = scope if isinstance(scope, Scope) else Scope(scope)
        super().__init__(self.scope.kind)
        self.version = 0  # how far the watch has come
        self._unlisted: dict[Key, None] | None = None  # during a list: not found in it so far
        self._tombstones = Tombstones()
        self._expected: dict[Key, int] = {}
        self._transform = transform
        self._keep_managed_fields = keep_managed_fields
        for name, function in (indexes or {}).items():
            self.add_index(name, function)

    # ------------------------------------------------------------------- list and watch

    def load(self, listing: Listing) -> Changes:
        """Take in a part of a list; at its end, what was in no part of it is gone."""
        if listing.forgets:
            self.version = 0
            self._tombstones = Tombstones()
            self._expected.clear()
            self.forget_versions()
        if listing.begins:
            self._unlisted = dict.fromkeys(self.keys())
            self._tombstones.begin_list()
        changes = [self._put(self._sighting(item), item, Source.LIST) for item in listing.items]
        if listing.completes:
            changes += self._sweep(parse_version(listing.version))
        return [change for change in changes if change is not None]

    def apply(self, event: WatchEvent) -> Change | None:
        """Take in one event of the watch."""
        seen = key, uid, version = self._sighting(event.object)
        self.version = max(self.version, version)
        if event.type == "BOOKMARK":
            return None
        if event.type == "DELETED":
            self._tombstones.settle(key, uid)
            return self._remove(key, version, Source.WATCH)
        return self._put(seen, event.object, Source.WATCH)

    # ----------------------------------------------------------------------- own writes

    def record_write(self, obj: Json, *, by: str = "") -> Change | None:
        """Make the answer to an own write (or a live read) visible at once."""
        seen = key, _, version = self._sighting(obj)
        held = self.entry(key)
        if held is None and OPAQUE < version <= self.version:
            return None  # rule 4
        admitted = self.scope.admits(obj)
        if admitted is False or (admitted is None and held is None):
            return None if held is None else self._bury(seen, by)
        if _is_gone(obj):
            return self._bury(seen, by)
        shown = {"metadata": metadata(obj)} if self.scope.metadata_only else obj
        change = self._put(seen, shown, Source.WRITE, by)
        if change is not None and self._unlisted is not None:
            self._unlisted[key] = None  # a list that does not know it can still be the newer one
        return change

    def record_delete(
        self, ref: ObjectRef, *, uid: str, version: str = "", by: str = ""
    ) -> Change | None:
        """Forget an object that is gone: a delete of ours removed it, or a live read missed it.

        ``uid`` says which incarnation; a later one of that name stays.  ``version`` is what was
        decided on, for a watch that has not come that far and will still tell of its life.
        """
        key = (ref.namespace, ref.name)
        held = self.entry(key)
        last = parse_version(version)
        if held is not None and uid_in(held) == uid:
            last = max(last, version_in(held))
        elif last <= (self.version if held is None else version_in(held)):
            return None  # the watch has told of its end already, or of its successor
        self._tombstones.add(key, uid, last, final=True)
        return self._remove(key, last, Source.WRITE, by)

    def expect(self, ref: ObjectRef, version: str) -> None:
        """A write whose answer was not the object itself: we are behind until the watch is there."""
        self._expected[ref.namespace, ref.name] = parse_version(version)

    def is_behind(self, ref: ObjectRef) -> bool:
        """Whether the object is older here than our own last write to it."""
        key = (ref.namespace, ref.name)
        expected = self._expected.get(key)
        if expected is None:
            return False
        held = self.entry(key)
        if max(self.version, version_in(held) if held else OPAQUE) < expected:
            return True
        del self._expected[key]
        return False

    # ------------------------------------------------------------------------ judgement

    def _sighting(self, obj: Json) -> Sighting:
        meta = obj.get("metadata")
        if not isinstance(meta, dict):
            meta = {}
        namespace = str(meta.get("namespace") or "") if self.kind.namespaced else ""
        key = namespace, str(meta.get("name") or "")
        return key, str(meta.get("uid") or ""), parse_version(meta.get("resourceVersion"))

    def _put(self, seen: Sighting, obj: Json, source: Source, by: str = "") -> Change | None:
        key, uid, version = seen
        if self._unlisted and source is not Source.WRITE:
            self._unlisted.pop(key, None)
        held = self.entry(key)
        if held is not None and OPAQUE < version <= version_in(held):
            return None  # rule 1
        if self._tombstones.hides(key, uid, version):
            return None  # rule 3
        if not key[1]:
            return None  # nobody's object; the others must go on
        self._tombstones.clear(key)
        kept = {**obj, "metadata": {**obj["metadata"]}}  # who told it may hold it still
        if not self._keep_managed_fields:
            kept["metadata"].pop("managedFields", None)
        entry = encode(self._transformed(kept), uid, version)
        self.replace(key, held, entry)
        if held is not None and held[8:] == entry[8:]:
            return None
        return Change(self.ref(key), held, entry, source, by)

    def _remove(self, key: Key, version: int, source: Source, by: str = "") -> Change | None:
        held = self.entry(key)
        if held is None or OPAQUE < version < version_in(held):
            return None
        self.replace(key, held, None)
        return Change(self.ref(key), held, None, source, by)

    def _bury(self, seen: Sighting, by: str) -> Change | None:
        """It is gone, or no longer ours to see; something newer of that name may come."""
        key, uid, version = seen
        self._tombstones.add(key, uid, version, final=False)
        return self._remove(key, version, Source.WRITE, by)

    def _sweep(self, version: int) -> list[Change | None]:
        unlisted, self._unlisted = self._unlisted or {}, None
        self.version = max(self.version, version)
        self._tombstones.complete_list()
        # What is newer than the list was written while it was on its way.
        return [self._remove(key, version, Source.LIST) for key in unlisted]

    def _transformed(self, obj: Json) -> Json:
        if self._transform is None:
            return obj
        try:
            return self._transform(obj)
        except Exception:  # noqa: BLE001  user code; one object must not stop the others
            _log.exception(
                "transform failed, object kept as it is", extra={"facts": {"kind": self.kind.kind}}
            )
            return obj


def _is_gone(obj: Json) -> bool:
    """Whether this was the last word about an object.

    The answer to the removal of the last finalizer is the object, but the write was its deletion.
    Pods have a grace period and namespaces finalizers of their own; those live on.
    """
    if not is_deleting(obj):
        return False
    held_by = finalizers_of(obj) or (obj.get("spec") or {}).get("finalizers")
    grace = metadata(obj).get("deletionGracePeriodSeconds")
    return not held_by and not grace
