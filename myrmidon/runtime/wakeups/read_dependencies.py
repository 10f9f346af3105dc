"""Readers: what the last pass over each key has read, and which keys a change concerns.

A state that reads a Secret depends on it: when the Secret changes, the result of the state may change,
so the object of the state needs a pass.  The kinds that are read are watched anyway; what is missing is
the way back from the Secret to its readers, and that is kept here, from the reads themselves.

- A read is an object (``ObjectRef``, also one that does not exist) or a list (``Listed``: kind,
  namespace, label selector, index value).  Equal reads of different keys share one ``_Read``, which
  holds the keys that depend on it, with the state that read it.
- A change concerns the readers of the object, and the readers of each list that covers the object
  before or after the change.  So that a change need not be compared with every list, a list is
  filed under one of its words: its index value, a label that it asks for, or its namespace.
- A read counts from the moment it happens, so a change that arrives later in the same pass is not lost.
  When the pass has ended, its reads replace those of the pass before.  If it was interrupted, both are
  kept.
- A change that was in the cache before the first read of the last pass over a key is known to it.  Each change
  has a position in the subscription that reports it (``Subscription.arrived``), and each key the
  position at which its last pass began to read.

What must hold: a change of what the last pass over a key has read causes a pass over it, and over no
other key (R1).  Memory is bounded by the keys that exist (Q12): a pass that has more than
``READS_MAX`` reads of one kind depends on all objects of that kind in the namespaces concerned, and
then, if there are as many namespaces, in the cluster.

Nothing here is stored: after a restart every object has a pass, and its reads are known again.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from myrmidon.api.objects.accessors import Json, labels_of
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.selectors import Selector, parse_selector
from myrmidon.io.watch.changes import Change

READS_MAX = 1000
"""The most reads of one kind that are kept apart for one key."""

Words: TypeAlias = Callable[[Kind, str, Json], Iterable[str]]
"""The values of an object in an index: a function of kind, index name and object."""
_Place: TypeAlias = tuple[str, str, str, str]  # namespace, what kind of word, its name, its value


class Listed(NamedTuple):
    """The objects that one list covers.  ``namespace`` ``""`` means all namespaces.

    ``indexed`` is the name of an index and the value that the list asks for.
    ``whole`` stands for many single reads, and covers objects that cannot be read as well.
    """

    kind: Kind
    namespace: str = ""
    labels: str = ""
    indexed: tuple[str, str] | None = None
    whole: bool = False


Record: TypeAlias = ObjectRef | Listed


class _Read:
    """One object or list, and the keys that have read it, each with the state that did."""

    __slots__ = ("record", "selector", "states")

    def __init__(self, record: Record) -> None:
        self.record = record
        self.states: dict[ObjectRef, str] = {}
        self.selector = parse_selector(record.labels) if isinstance(record, Listed) else Selector()

    def covers(self, obj: Json) -> bool:
        return self.selector.matches(labels_of(obj))


class _Lists:
    """The lists of one kind, each filed under a word that the objects it covers have."""

    __slots__ = ("_indexes", "_places")

    def __init__(self) -> None:
        self._places: dict[_Place, dict[_Read, None]] = {}
        self._indexes: Counter[str] = Counter()  # how many lists use an index

    def add(self, listed: Listed, read: _Read) -> None:
        for place in _places_of(listed, read.selector):
            self._places.setdefault(place, {})[read] = None
        if listed.indexed is not None:
            self._indexes[listed.indexed[0]] += 1

    def remove(self, listed: Listed, read: _Read) -> None:
        for place in _places_of(listed, read.selector):
            del self._places[place][read]
            if not self._places[place]:
                del self._places[place]
        if listed.indexed is not None:
            self._indexes[listed.indexed[0]] -= 1
            if not self._indexes[listed.indexed[0]]:
                del self._indexes[listed.indexed[0]]

    def __bool__(self) -> bool:
        return bool(self._places)

    def covering(self, change: Change, words: Words) -> Iterator[_Read]:
        """Yield the lists that cover the object before or after the change; some more than once."""
        kind = change.ref.kind
        spaces = dict.fromkeys(("", change.ref.namespace))
        for namespace in spaces:
            yield from self._places.get((namespace, "whole", "", ""), ())
        for obj in (change.before, change.after):
            if obj is None:
                continue
            found = [("all", "", ""), *(("label", *label) for label in labels_of(obj).items())]
            found += [
                ("index", name, word) for name in self._indexes for word in words(kind, name, obj)
            ]
            for namespace in spaces:
                for place in found:
                    for read in self._places.get((namespace, *place), ()):
                        if read.covers(obj):
                            yield read


def _places_of(listed: Listed, selector: Selector) -> list[_Place]:
    """Return the places in which a list is filed: every object that it covers has one of them."""
    if listed.whole:
        return [(listed.namespace, "whole", "", "")]
    if listed.indexed is not None:
        return [(listed.namespace, "index", *listed.indexed)]
    for requirement in selector:
        if requirement.operator in {"=", "in"}:
            return [
                (listed.namespace, "label", requirement.key, value) for value in requirement.values
            ]
    return [(listed.namespace, "all", "", "")]


def _named(record: Record) -> str:
    if isinstance(record, ObjectRef):
        return f"{record.kind.kind} {record.key}"
    parts = (
        f"every {record.kind.kind}",
        f"in {record.namespace}" if record.namespace else "",
        f"with {record.labels}" if record.labels else "",
        f"of index {record.indexed[0]}={record.indexed[1]}" if record.indexed else "",
    )
    return " ".join(filter(None, parts))


class _Last:
    """The last pass over a key: where the changes were when it began, and what it has read."""

    __slots__ = ("position", "reads")

    def __init__(self, position: int) -> None:
        self.position = position
        self.reads: tuple[_Read, ...] = ()


class Readers:
    """What the passes of one controller have read."""

    def __init__(
        self,
        words: Words = lambda _kind, _index, _obj: (),
        position: Callable[[], int] = lambda: 0,
    ) -> None:
        """``position`` returns how many changes the caches have reported so far."""
        self._words, self._position = words, position
        self._objects: dict[ObjectRef, _Read] = {}
        self._known_lists: dict[Listed, _Read] = {}
        self._lists: dict[Kind, _Lists] = {}
        self._last: dict[ObjectRef, _Last] = {}

    def begin(self, key: ObjectRef) -> "Reading":
        """Return the object that takes the reads of a pass, before the first of them."""
        last = self._last.get(key)
        position = self._position()
        if last is not None:
            last.position = position
        return Reading(self, key, position)

    def of(self, change: Change, position: int | None = None) -> dict[ObjectRef, str]:
        """Return the keys that the change concerns, each with a state that read it.

        ``position`` is that of the change: a key whose last pass began after it is left out.
        """
        read, lists = self._objects.get(change.ref), self._lists.get(change.ref.kind)
        if read is None and lists is None:
            return {}
        found = dict(read.states) if read is not None else {}
        for listed in lists.covering(change, self._words) if lists is not None else ():
            for key, state in listed.states.items():
                found.setdefault(key, state)
        if position is None:
            return found
        return {key: state for key, state in found.items() if self._last[key].position < position}

    def forget(self, key: ObjectRef) -> None:
        """Drop the reads of a key, because its object is gone."""
        last = self._last.pop(key, None)
        for read in last.reads if last is not None else ():
            self._release(read, key)

    def read_by(self, key: ObjectRef) -> list[tuple[str, str]]:
        """Return what the last pass over a key has read, in words, each with a state that read it."""
        last = self._last.get(key)
        return [
            (_named(read.record), read.states.get(key, ""))
            for read in (last.reads if last is not None else ())
        ]

    @property
    def dependencies(self) -> int:
        """The number of reads that are kept, counted once for each key."""
        return sum(len(last.reads) for last in self._last.values())

    @property
    def is_used(self) -> bool:
        """Whether any key has read anything."""
        return bool(self._last)

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is kept."""
        return not (self._objects or self._known_lists or self._lists or self._last)

    # ------------------------------------------------------------------- for Reading

    def register(self, record: Record, key: ObjectRef, state: str, position: int) -> _Read:
        """Note that a key reads an object or a list, from now on."""
        if key not in self._last:
            self._last[key] = _Last(position)
        read = self._find(record)
        read.states[key] = state
        return read

    def settle(self, key: ObjectRef, reads: Iterable[_Read], *, complete: bool) -> None:
        """Replace the reads of a key by those of a pass that has ended.

        Those of an interrupted pass are added, unless there are too many: it is repeated anyway.
        """
        last = self._last.get(key)
        if last is None:
            return  # neither this pass nor the one before has read anything
        now = dict.fromkeys(reads)
        if not complete and len(now) + len(last.reads) <= READS_MAX:
            now |= dict.fromkeys(last.reads)
        for read in last.reads:
            if read not in now:
                self._release(read, key)
        last.reads = tuple(now)
        if not now:
            del self._last[key]

    def drop(self, read: _Read, key: ObjectRef) -> None:
        """Undo ``register``, unless an earlier pass has read the same."""
        if read not in self._last[key].reads:
            self._release(read, key)

    # ------------------------------------------------------------------------- inside

    def _find(self, record: Record) -> _Read:
        if isinstance(record, ObjectRef):
            read = self._objects.get(record)
            if read is None:
                read = self._objects[record] = _Read(record)
            return read
        read = self._known_lists.get(record)
        if read is None:
            read = self._known_lists[record] = _Read(record)
            self._lists.setdefault(record.kind, _Lists()).add(record, read)
        return read

    def _release(self, read: _Read, key: ObjectRef) -> None:
        del read.states[key]
        if read.states:
            return
        if isinstance(read.record, ObjectRef):
            del self._objects[read.record]
            return
        del self._known_lists[read.record]
        lists = self._lists[read.record.kind]
        lists.remove(read.record, read)
        if not lists:
            del self._lists[read.record.kind]


class Reading:
    """Takes the reads of one pass over a key."""

    __slots__ = ("_counts", "_key", "_position", "_readers", "_reads", "_whole")

    def __init__(self, readers: Readers, key: ObjectRef, position: int) -> None:
        self._readers, self._key, self._position = readers, key, position
        self._reads: dict[_Read, None] = {}
        self._counts: Counter[Kind] = Counter()
        self._whole: set[tuple[Kind, str]] = set()  # kinds and namespaces that are read as a whole

    def note(self, record: Record, state: str) -> None:
        """Note a read.  The object of the pass itself is left out: each of its changes wakes it."""
        if record == self._key:
            return
        kind = record.kind
        if self._whole and not self._whole.isdisjoint(((kind, ""), (kind, record.namespace))):
            return
        read = self._readers.register(record, self._key, state, self._position)
        if read in self._reads:
            return
        self._reads[read] = None
        self._counts[kind] += 1
        if self._counts[kind] > READS_MAX:
            self._counts[kind] = self._collapse(kind, state)

    def end(self, *, complete: bool) -> None:
        """End the pass; its reads replace the earlier ones, or join them if it is not complete."""
        self._readers.settle(self._key, self._reads, complete=complete)

    def _collapse(self, kind: Kind, state: str) -> int:
        """Replace all reads of a kind by lists of whole namespaces; return how many there are."""
        apart = [read for read in self._reads if read.record.kind == kind]
        namespaces = dict.fromkeys(read.record.namespace for read in apart)
        if "" in namespaces or len(namespaces) > READS_MAX:
            namespaces = {"": None}
        kept: dict[_Read, None] = {}
        for namespace in namespaces:
            whole = Listed(kind, namespace, whole=True)
            kept[self._readers.register(whole, self._key, state, self._position)] = None
            self._whole.add((kind, namespace))
        self._reads |= kept
        for read in apart:
            if read not in kept:
                del self._reads[read]
                self._readers.drop(read, self._key)
        return len(kept)
