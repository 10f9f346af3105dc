"""OwnWrites: what a controller knows about its own writes before the watch reports them.

A watch is always a little behind.  A controller that relied on it alone would decide on objects as
they were before its own writes, and each of those writes would wake it once more.  Therefore:

- Author: each pass signs its writes with ``author(controller, key)``.
- Answer: the answer to a write is put into every cache that can hold the object at once, and the
  subscribers are told, with the author.  ``watch.cache`` decides by resourceVersion whether it is newer
  than the cached object.  The watch event that follows has the same version and changes nothing.
- Echo: a busy server may send the watch event before the answer, and it then looks like a change by
  another client.  So (object, resourceVersion) of every answer is kept per author, and an event that
  arrives during a pass over its key is held until the pass has ended and all its answers are known.
- Unknown outcome: a write whose answer was lost may have taken effect or not, and no watch event tells
  which.  The object is marked, for all controllers of the process and in every version of its kind
  that a cache holds, until an answer is recorded.  A pass reads a marked object from the server.

What must hold: after a write, readers see its result or a newer state (K3); the next decision after an
unknown outcome is made on a live read (A9); a pass is not woken by its own writes, so they do not
shorten its backoff (C7).  A change by another client is never dropped: an event that cannot be matched
with a write wakes the key, which costs one pass.

Not handled: an answer cannot be shown in a cache of another version of the kind, which waits for its
watch.  A deletion has no version to expect: it is recognised by its author alone.
"""

from collections import OrderedDict
from functools import lru_cache
from typing import Generic, TypeVar

from myrmidon.api.objects.accessors import Json, ref_of, version_of
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.io.watch.caches import Caches
from myrmidon.io.watch.changes import Change
from myrmidon.io.watch.subscriptions import Shared

_AUTHORS_MAX = 4096  # an echo that arrives after that many other passes costs one pass

E = TypeVar("E")


@lru_cache(maxsize=1024)  # called for each change that concerns a key
def author(controller: str, key: ObjectRef) -> str:
    """Return the name with which a controller's passes over one key sign their writes."""
    return f"{controller}:{key.key}"


class OwnWrites(Generic[E]):
    """The own writes of one controller.  ``E`` is the type of the events that ``hold`` keeps.

    Unknown outcomes are shared with the other controllers that use the same caches.
    """

    def __init__(self, controller: str, caches: Caches) -> None:
        self._controller, self._caches, self._unknown = controller, caches, caches.unknown
        self._written: OrderedDict[str, dict[tuple[ObjectRef, str], None]] = OrderedDict()
        self._held: dict[ObjectRef, list[tuple[Change, E]]] = {}

    # ---------------------------------------------------------------- answers of the server

    def record_write(
        self,
        kind: Kind,
        obj: Json,
        *,
        by: str = "",
        ref: ObjectRef | None = None,
        child_at: int | None = None,
    ) -> None:
        """Show the answer to a write in every cache of its kind, and expect its watch event.

        ``ref`` is the object of the request, if the caller has it.  ``child_at``: see
        ``Cache.record_write``.
        """
        if ref is None or not ref.name:  # the server chose the name
            ref = ref_of(kind, obj)
        if by:
            self.expect(by, ref, version_of(obj))
        self._unknown.discard(ref)
        for shared in self._caches.holding(ref):
            if shared.cache.kind == kind:
                shared.publish(shared.cache.record_write(obj, by=by, child_at=child_at))

    def record_delete(self, ref: ObjectRef, *, uid: str, by: str = "") -> None:
        """Remove an object from every cache: a delete of that uid has succeeded."""
        for shared in self._caches.holding(ref):
            here = _in_version_of(shared, ref)
            self._unknown.discard(here)
            shared.publish(shared.cache.record_delete(here, uid=uid, by=by))

    def record_read(self, ref: ObjectRef, obj: Json | None, *, uid: str | None) -> None:
        """Show the answer to a live read; it settles what became of earlier writes.

        ``obj`` is None if the object does not exist.  ``uid`` is that of the object that was cached
        before the read, None if none was: only that one is removed, not a later one of its name.
        """
        if obj is not None:
            self.record_write(ref.kind, obj)
        elif uid is not None:
            self.record_delete(ref, uid=uid)
        self._unknown.difference_update(self._in_every_version(ref))

    # --------------------------------------------------------------------- unknown outcomes

    def mark_unknown(self, ref: ObjectRef) -> None:
        """Note that a write to the object got no clear answer."""
        self._unknown.update(self._in_every_version(ref))

    def is_unknown(self, ref: ObjectRef) -> bool:
        """Whether a write to the object got no clear answer, and no answer was recorded since."""
        return ref in self._unknown

    # ----------------------------------------------------------------------------- echoes

    def expect(self, by: str, ref: ObjectRef, version: str) -> None:
        """Expect the watch event of a write: the object in the version that the answer has."""
        self._written.setdefault(by, {})[ref, version] = None
        if len(self._written) > _AUTHORS_MAX:
            self._written.popitem(last=False)

    def begin_pass(self, key: ObjectRef) -> None:
        """Forget what the previous pass over the key has written."""
        self._written.pop(author(self._controller, key), None)

    def is_own(self, key: ObjectRef, change: Change) -> bool:
        """Whether the key's own last pass made a change, as far as is known.

        A change that was recorded here names its author; a watch event does not.
        """
        name = author(self._controller, key)
        if change.by == name:
            return True
        written = self._written.get(name)
        return written is not None and (change.ref, change.version) in written

    def hold(self, key: ObjectRef, change: Change, event: E) -> None:
        """Keep the event of a change that arrived during a pass over its key, and may be its own."""
        self._held.setdefault(key, []).append((change, event))

    def released(self, key: ObjectRef) -> list[E]:
        """Return the events held during a pass that has now ended, without its own writes."""
        held = self._held.pop(key, ())
        return [event for change, event in held if not self.is_own(key, change)]

    # ----------------------------------------------------------------------------- inside

    def _in_every_version(self, ref: ObjectRef) -> list[ObjectRef]:
        """The object in each version of its kind that a cache holds; none if no cache holds it."""
        return [_in_version_of(shared, ref) for shared in self._caches.holding(ref)]


def _in_version_of(shared: Shared, ref: ObjectRef) -> ObjectRef:
    return ObjectRef(shared.cache.kind, ref.name, ref.namespace)
