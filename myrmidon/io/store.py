"""Objects in memory: how they are kept and how they are found.

Which facts get in here is decided in ``cache``; this is only the shelf.
"""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from myrmidon.api.objects import Json, labels_of
from myrmidon.api.refs import Kind, ObjectRef
from myrmidon.api.selectors import selector
from myrmidon.io.changes import Entry, decode, unversioned
from myrmidon.io.indexes import Indexes, IndexFunction, Key

Objects: TypeAlias = list[Json]
Refs: TypeAlias = list[ObjectRef]


class Store:
    """Entries by namespace and name, with indexes.

    Two levels of dictionaries instead of one with pairs for keys: a pair costs 72 bytes, and
    there are as many as objects.
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._objects: dict[str, dict[str, Entry]] = {}
        self._indexes = Indexes()

    def get(self, name: str, namespace: str = "") -> Json | None:
        """One object, as a copy of the caller's own."""
        entry = self.entry((namespace, name))
        return None if entry is None else decode(self.kind, entry)

    def list(
        self,
        namespace: str = "",
        *,
        labels: Mapping[str, str] | str | None = None,
        index: tuple[str, str] | None = None,
    ) -> Objects:
        """The objects that match, in the order of their names.

        The order of arrival would differ from run to run, and so would what is made from it.
        """
        keys = sorted(self.keys(namespace)) if index is None else self._indexes.find(*index)
        found = [self.get(key[1], key[0]) for key in keys if namespace in {"", key[0]}]
        wanted = selector(labels)
        return [obj for obj in found if obj is not None and wanted.matches(labels_of(obj))]

    def keys(self, namespace: str = "") -> Iterator[Key]:
        """Namespace and name of everything, or of everything in one namespace."""
        spaces = (namespace,) if namespace else tuple(self._objects)
        for space in spaces:
            for name in self._objects.get(space, ()):
                yield space, name

    def refs(self, index: str, word: str) -> Refs:
        """References of what an index finds, without decoding anything."""
        return [self.ref(key) for key in self._indexes.find(index, word)]

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Declare an index; what is held already is found through it, too."""
        if self._indexes.declare(name, function):
            for namespace, key_name in self.keys():
                self._indexes.move(name, (namespace, key_name), None, self.get(key_name, namespace))

    def __len__(self) -> int:
        return sum(map(len, self._objects.values()))

    def stamp(self, name: str, namespace: str = "") -> int:
        """A number for what is held, another for other content; 0 for nothing.  Decodes nothing."""
        entry = self.entry((namespace, name))
        return 0 if entry is None else hash(entry)  # bytes remember their hash

    # ------------------------------------------------------------------- for the cache

    def entry(self, key: Key) -> Entry | None:
        """What is held under a key."""
        names = self._objects.get(key[0])
        return None if names is None else names.get(key[1])

    def ref(self, key: Key) -> ObjectRef:
        """The reference of a key."""
        return ObjectRef(self.kind, key[1], key[0])

    def replace(self, key: Key, held: Entry | None, entry: Entry | None) -> None:
        """Hold ``entry`` where ``held`` was; None for nothing."""
        namespace, name = key
        if entry is not None:
            self._objects.setdefault(namespace, {})[name] = entry
        elif held is not None:
            names = self._objects[namespace]
            del names[name]
            if not names:
                del self._objects[namespace]
        if self._indexes:
            sides = [None if side is None else decode(self.kind, side) for side in (held, entry)]
            self._indexes.move_all(key, *sides)

    def forget_versions(self) -> None:
        """Let every object be replaced by whatever comes."""
        for names in self._objects.values():
            for name, entry in names.items():
                names[name] = unversioned(entry)
