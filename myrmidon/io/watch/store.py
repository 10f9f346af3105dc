"""Store: the entries of a cache by namespace and name, with its indexes.

``cache`` decides what is stored.  Reading an unreadable object raises ``UnreadableObjectError``,
because a controller that took it for absent would try to create it.  Lists leave it out.
"""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from myrmidon.api.objects.accessors import Json, labels_of
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.selectors import selector
from myrmidon.errors import UnreadableObjectError
from myrmidon.io.lists.events import identify
from myrmidon.io.watch.changes import (
    Entry,
    decode,
    is_unreadable,
    problem_of,
    readable,
    uid_in,
    unversioned,
)
from myrmidon.io.watch.indexes import Indexes, IndexFunction, Key

Objects: TypeAlias = list[Json]
Refs: TypeAlias = list[ObjectRef]
Entries: TypeAlias = list[tuple[str, list[tuple[str, Entry]]]]


class Store:
    """Entries by namespace and name, with indexes.

    They are in two levels of dictionaries, because tuples (namespace, name) as keys would cost 72
    bytes for each object.
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._objects: dict[str, dict[str, Entry]] = {}
        self._indexes = Indexes()
        self._unreadable: dict[Key, None] = {}

    def get(self, name: str, namespace: str = "") -> Json | None:
        """Return a copy of one object, None if it does not exist.  Raise if it is unreadable."""
        entry = self.entry((namespace, name))
        if entry is None:
            return None
        if is_unreadable(entry):
            ref = self.ref((namespace, name))
            raise UnreadableObjectError(str(ref), problem_of(entry), uid=uid_in(entry))
        return decode(self.kind, entry)

    def look(self, key: Key) -> Json | None:
        """Return a copy of one object, None if it does not exist or is unreadable."""
        return readable(self.kind, self.entry(key))

    def list(
        self,
        namespace: str = "",
        *,
        labels: Mapping[str, str] | str | None = None,
        index: tuple[str, str] | None = None,
    ) -> Objects:
        """Return copies of the objects that match, sorted by namespace and name.

        The order is the same in every run, so outputs that are computed from it are the same, too.
        """
        keys = sorted(self.keys(namespace)) if index is None else self._indexes.find(*index)
        found = [readable(self.kind, self.entry(key)) for key in keys if namespace in {"", key[0]}]
        wanted = selector(labels)
        return [obj for obj in found if obj is not None and wanted.matches(labels_of(obj))]

    def keys(self, namespace: str = "") -> Iterator[Key]:
        """Yield namespace and name of all objects, or of those in one namespace."""
        spaces = (namespace,) if namespace else tuple(self._objects)
        for space in spaces:
            for name in self._objects.get(space, ()):
                yield space, name

    def names(self) -> dict[str, dict[str, None]]:
        """Return the names of all objects by namespace, without making a key for each."""
        return {namespace: dict.fromkeys(names) for namespace, names in self._objects.items()}

    def entries(self) -> Entries:
        """Return all current entries: for each namespace its names and entries, both sorted."""
        return [(space, sorted(names.items())) for space, names in sorted(self._objects.items())]

    def refs(self, index: str, word: str) -> Refs:
        """Return references of the objects that an index finds, without decoding them."""
        return [self.ref(key) for key in self._indexes.find(index, word)]

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Declare an index, and add the objects that are stored already."""
        if self._indexes.declare(name, function):
            for key in self.keys():
                self._indexes.move(name, key, None, readable(self.kind, self.entry(key)))

    def __len__(self) -> int:
        return sum(map(len, self._objects.values()))

    def stamp(self, name: str, namespace: str = "") -> int:
        """Return a hash of the cached bytes, 0 if the object is absent."""
        names = self._objects.get(namespace)  # without a call: every pass asks this for each output
        entry = None if names is None else names.get(name)
        return 0 if entry is None else hash(entry)  # cheap: bytes cache their hash

    # ------------------------------------------------------------------- for the cache

    def entry(self, key: Key) -> Entry | None:
        """Return the entry of a key, None if there is none."""
        names = self._objects.get(key[0])
        return None if names is None else names.get(key[1])

    def ref(self, key: Key) -> ObjectRef:
        """Return the reference of a key."""
        return ObjectRef(self.kind, key[1], key[0])

    @property
    def unreadable(self) -> int:
        """The number of unreadable objects."""
        return len(self._unreadable)

    def replace(
        self, key: Key, held: Entry | None, entry: Entry | None, obj: Json | None = None
    ) -> None:
        """Store ``entry`` in place of ``held``; None stands for no entry.

        ``obj`` is the decoded object of ``entry``, if the caller has it and no longer needs it.
        """
        namespace, name = key
        if entry is not None:
            self._objects.setdefault(namespace, {})[name] = entry
        elif held is not None:
            names = self._objects[namespace]
            del names[name]
            if not names:
                del self._objects[namespace]
        if self._unreadable:
            self._unreadable.pop(key, None)
        if entry is not None and is_unreadable(entry):
            self._unreadable[key] = None
        if self._indexes:
            new = readable(self.kind, entry) if obj is None else identify(self.kind, obj)
            self._indexes.move_all(key, readable(self.kind, held), new)

    def forget_versions(self) -> Iterator[None]:
        """Set the version of every entry to 0, so that any version replaces it.

        Yields after each object, so that the caller can pause.
        """
        for names in list(self._objects.values()):
            for name in list(names):
                if name in names:  # else it was removed while the caller paused
                    names[name] = unversioned(names[name])
                yield
