"""Cache: the objects of one scope, as the list and watch and our own writes report them.

Both arrive in any order (``io.writes.own_writes`` explains why own writes are recorded), so each is judged by
its resourceVersion.  The versions of one kind are comparable numbers, and four rules follow:

1  An object that is not newer than the cached one is dropped: a cached object never goes back.
2  An own write is visible at once, and its watch event changes nothing.
3  An object that we deleted stays deleted, although a watch that is behind still reports it.
4  The answer to an own write is dropped if the object is not cached and the watch has passed the
   answer's version: the watch has reported the object's deletion already.

A list is taken in object by object, and the caller may pause between any two of them (``loading``).
Readers then see some objects as the list has them and others as they were before, as they would with a
watch that is behind: each object by itself only moves forward (rule 1), own writes stay visible
(rule 2), and objects that are missing from the list are removed at its end.

An object that cannot be read (``shapes``) is kept as an unreadable entry under the same rules.  It is
reported once, when it becomes unreadable, and not again with each list.

A cache may keep a part of its scope (``part``, see ``lists.slices``).  Objects outside the part are not
stored, from wherever they are reported; an object that leaves the part, because it got another parent, is removed.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from myrmidon.api.objects.accessors import Json, finalizers_of, metadata
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.io.lists.events import Listing, WatchEvent
from myrmidon.io.lists.scope import Scope
from myrmidon.io.lists.shapes import UID_MAX, Unreadable, problem_in
from myrmidon.io.lists.slices import Part, key_in
from myrmidon.io.watch.changes import (
    OPAQUE,
    Change,
    Entry,
    Source,
    encode,
    encode_unreadable,
    is_ahead,
    is_same,
    parse_version,
    uid_in,
    version_in,
)
from myrmidon.io.watch.indexes import IndexFunction, Key
from myrmidon.io.watch.store import Store
from myrmidon.io.watch.tombstones import Tombstones

Transform: TypeAlias = Callable[[Json], Json]
Changes: TypeAlias = list[Change]
Sighting: TypeAlias = tuple[Key, str, int]  # key, uid and version of a reported object

_STORED = frozenset({"ADDED", "MODIFIED"})  # the events that bring an object
_REPORTS_MAX = 20  # about objects that have no name

_log = logging.getLogger(__name__)


class Cache(Store):
    """The objects of one scope.  A reflector and our own writes fill it; all controllers read it."""

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
        self._namespaced = self.kind.namespaced
        self.version = 0  # how far the watch has come
        self.part: Part | None = None
        """The part of the scope that is kept; None for all of it.  ``reflector`` changes it."""
        self._unlisted: dict[str, dict[str, None]] | None = None  # during a list: not found so far
        self._nameless: dict[str, None] = {}  # problems of objects without a name, once reported
        self._tombstones = Tombstones()
        self._transform = transform
        self._keep_managed_fields = keep_managed_fields
        for name, function in (indexes or {}).items():
            self.add_index(name, function)

    # ------------------------------------------------------------------- list and watch

    def load(self, listing: Listing) -> Changes:
        """Take in a part of a list; at the end of the list, remove the objects that were in no part."""
        return [change for change in self.loading(listing) if change is not None]

    def loading(self, listing: Listing) -> Iterator[Change | None]:
        """Do the same step by step: yield after each object, so that the caller may pause there.

        The caller must not take in any other list or watch event before the last step.
        """
        if listing.forgets:
            self.version = 0
            self._tombstones = Tombstones()
            for _ in self.forget_versions():
                yield None
        if listing.begins:
            self._unlisted = self.names()
            self._tombstones.begin_list()
        for item in listing.items:
            obj, problem = item if type(item) is Unreadable else (item, None)
            if self.part is not None and problem is None and not self._is_ours(obj):
                yield None
                continue
            seen = self._sighting(obj)
            self._find(seen[0])
            yield self._put(seen, self.entry(seen[0]), obj, Source.LIST, problem=problem)
        if listing.completes:
            yield from self._sweep(parse_version(listing.version))

    def apply(self, event: WatchEvent) -> Change | None:
        """Take in one watch event."""
        kind, obj, problem = event
        seen = key, uid, version = self._sighting(obj)
        if is_ahead(version, self.version):
            self.version = version
        if kind not in _STORED:
            if kind == "BOOKMARK":
                return None
            self._tombstones.settle(key, uid)
            return self._remove(key, version, Source.WATCH)
        if self.part is not None and not problem and not self._is_ours(obj):
            return self._remove(key, version, Source.WATCH)
        if self._unlisted:
            self._find(key)
        return self._put(seen, self.entry(key), obj, Source.WATCH, problem=problem or None)

    # ------------------------------------------------------------------- part of the scope

    def is_foreign(self, line: bytes) -> bool:
        """Whether a line of a watch is about an object that is not in the part, and not cached.

        The line is not decoded.  False if that would be needed to find out.
        """
        part = self.part
        if part is None or not part.excludes(line):
            return False
        if part.is_fixed:
            return True
        key = key_in(line)
        return key is not None and self.entry(key) is None

    def purging(self) -> Iterator[Change | None]:
        """Remove the objects that are not in the part; yield after each object that is looked at."""
        for namespace, names in self.names().items():
            for name in names:
                obj = self.look(key := (namespace, name))
                if self.part is None or obj is None or self._is_ours(obj):
                    yield None
                else:
                    yield self._remove(key, OPAQUE, Source.LIST)

    def _is_ours(self, obj: Any) -> bool:
        """Whether an object is in the part.  One that cannot be read is kept, to be reported."""
        assert self.part is not None, "a cache of all objects needs no check"
        try:
            return self.part.admits(obj)
        except (AttributeError, KeyError, TypeError, UnicodeError):
            return True

    # ----------------------------------------------------------------------- own writes

    def record_write(
        self, obj: Json, *, by: str = "", child_at: int | None = None
    ) -> Change | None:
        """Show the answer to an own write or to a live read at once.

        ``child_at`` is the stamp of the cached object that the write was decided on, if both it and
        ``obj`` are known to be children of the object of the pass (``Change.keeps_parent``).
        """
        seen = key, _, version = self._sighting(obj)
        held = self.entry(key)
        if held is None and OPAQUE < version <= self.version:
            return None  # rule 4
        shown, problem = obj, problem_in(obj)
        if problem:
            if held is None:
                return None
        else:
            admitted = self.scope.admits(obj)
            if self.part is not None and not self._is_ours(obj):
                admitted = False
            if not admitted and (admitted is False or held is None):
                return None if held is None else self._bury(seen, by)
            if obj["metadata"].get("deletionTimestamp") and _is_gone(obj):
                return self._bury(seen, by)
            if self.scope.metadata_only:
                shown = {"metadata": metadata(obj)}
        keeps = child_at is not None and child_at == (0 if held is None else hash(held))
        change = self._put(seen, held, shown, Source.WRITE, by, problem=problem, keeps_parent=keeps)
        if change is not None and self._unlisted is not None:
            # The list under way may lack the object and still be newer than the write.
            self._unlisted.setdefault(key[0], {})[key[1]] = None
        return change

    def record_delete(
        self, ref: ObjectRef, *, uid: str, version: str = "", by: str = ""
    ) -> Change | None:
        """Remove an object: a delete of ours succeeded, or a live read did not find it.

        Only the object of that ``uid`` is removed; a later one of the same name stays.  ``version`` is
        the version that was deleted: a watch that has not come that far still reports the object.
        """
        key = (ref.namespace, ref.name)
        held = self.entry(key)
        last = parse_version(version)
        if held is not None and uid_in(held) == uid:
            last = max(last, version_in(held))
        elif last <= (self.version if held is None else version_in(held)):
            return None  # the watch has reported its deletion already, or its successor
        self._tombstones.add(key, uid, last, final=True)
        return self._remove(key, last, Source.WRITE, by)

    # ------------------------------------------------------------------------ judgement

    def _sighting(self, obj: Any) -> Sighting:
        """Return which object is reported; the name is empty if it cannot be read."""
        try:  # for nearly every object
            meta = obj["metadata"]
            namespace, name, uid = meta["namespace"], meta["name"], meta["uid"]
            version = parse_version(meta["resourceVersion"])
        except (KeyError, TypeError):
            return self._unusual_sighting(obj)
        if type(namespace) is type(name) is type(uid) is str and len(uid) <= UID_MAX:
            return (namespace if self._namespaced else "", name), uid, version
        return self._unusual_sighting(obj)

    def _unusual_sighting(self, obj: Any) -> Sighting:
        """Do the same for an object without a namespace, or with metadata of any shape."""
        meta = obj.get("metadata") if type(obj) is dict else None
        if type(meta) is not dict:
            return ("", ""), "", OPAQUE
        name, namespace, uid = meta.get("name"), meta.get("namespace") or "", meta.get("uid")
        if type(name) is not str or type(namespace) is not str:
            name = namespace = ""
        elif not self._namespaced:
            namespace = ""
        if type(uid) is not str or len(uid) > UID_MAX:
            uid = ""
        return (namespace, name), uid, parse_version(str(meta.get("resourceVersion") or ""))

    def _put(
        self,
        seen: Sighting,
        held: Entry | None,
        obj: Json,
        source: Source,
        by: str = "",
        *,
        problem: str | None,
        keeps_parent: bool = False,
    ) -> Change | None:
        """Store a reported object; ``problem`` is None if its metadata is not checked yet.

        ``held`` is the entry that it may replace.
        """
        key, uid, version = seen
        if not key[1]:
            self._report_nameless(problem or problem_in(obj))
            return None
        if held is not None and OPAQUE < version <= version_in(held):
            return None  # rule 1
        if self._tombstones.stones and self._tombstones.rejects(key, uid, version):
            return None  # rule 3
        if problem is None:
            problem = problem_in(obj)
        entry = b""
        if not problem:
            obj = {**obj, "metadata": {**obj["metadata"]}}  # the caller may still hold it
            if not self._keep_managed_fields:
                obj["metadata"].pop("managedFields", None)
            entry, problem = self._encoded(obj, uid, version)
        if problem:
            entry = encode_unreadable(problem, uid, version)
        shared = source is Source.WRITE or problem or self._transform is not None
        self.replace(key, held, entry, None if shared else obj)
        if held is not None and is_same(held, entry):
            return None
        if problem:
            self._report(key, problem)
        return Change(self.ref(key), held, entry, source, by, keeps_parent)

    def _find(self, key: Key) -> None:
        """Note that the list or the watch has reported an object, so that the list keeps it."""
        if self._unlisted:
            self._unlisted.get(key[0], {}).pop(key[1], None)

    def _remove(self, key: Key, version: int, source: Source, by: str = "") -> Change | None:
        held = self.entry(key)
        if held is None or OPAQUE < version < version_in(held):
            return None
        self.replace(key, held, None)
        return Change(self.ref(key), held, None, source, by)

    def _bury(self, seen: Sighting, by: str) -> Change | None:
        """Remove an object that is gone or has left the scope; a newer one of that name may come."""
        key, uid, version = seen
        self._tombstones.add(key, uid, version, final=False)
        return self._remove(key, version, Source.WRITE, by)

    def _sweep(self, version: int) -> Iterator[Change | None]:
        unlisted, self._unlisted = self._unlisted or {}, None
        self.version = max(self.version, version)
        self._tombstones.complete_list()
        for namespace, names in unlisted.items():
            for name in names:
                # An object that is newer than the list was written while the list was under way; it stays.
                yield self._remove((namespace, name), version, Source.LIST)

    def _encoded(self, obj: Json, uid: str, version: int) -> tuple[Entry, str]:
        """Return the entry of an object after the transform, and what is wrong if it is unreadable."""
        if self._transform is not None:
            try:
                return encode(self._transform(obj), uid, version), ""
            except Exception:  # noqa: BLE001  user code; one object must not stop the others
                _log.exception(
                    "transform failed, object kept as it is",
                    extra={"facts": {"kind": self.kind.kind}},
                )
        try:
            return encode(obj, uid, version), ""
        except RecursionError:
            return b"", "it is nested too deeply"
        except (TypeError, ValueError) as error:
            return b"", f"it is not valid JSON ({error})"

    # ---------------------------------------------------------------------------- reports

    def _report(self, key: Key, problem: str) -> None:
        facts = {"kind": self.kind.kind, "object": self.ref(key).key, "problem": problem}
        _log.warning("an object cannot be read", extra={"facts": facts})

    def _report_nameless(self, problem: str) -> None:
        if problem not in self._nameless and len(self._nameless) < _REPORTS_MAX:
            self._nameless[problem] = None
            facts = {"kind": self.kind.kind, "problem": problem}
            _log.warning(
                "an object without a name cannot be read and is skipped", extra={"facts": facts}
            )


def _is_gone(obj: Json) -> bool:
    """Whether the answer about a terminating object is its last state: it no longer exists.

    The answer to the removal of the last finalizer is the object, but the write was its deletion.
    Pods have a grace period and namespaces finalizers of their own; those live on.
    """
    spec = obj.get("spec")
    held_by = finalizers_of(obj) or (isinstance(spec, dict) and spec.get("finalizers"))
    grace = metadata(obj).get("deletionGracePeriodSeconds")
    return not held_by and not grace
