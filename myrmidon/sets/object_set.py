"""ObjectSet: objects by reference, in a stable order."""

from collections.abc import Iterable, Iterator

from myrmidon.api.objects import Json
from myrmidon.api.refs import ObjectRef


class ObjectSet:
    """A set of objects in which two are one when they have the same reference.

    Content does not count for membership: ``a | b`` keeps ``a``'s object where both have one.
    Iteration is in the order of insertion, so that what is printed or sent never depends on hashes.
    """

    __slots__ = ("_objects",)

    def __init__(self, objects: Iterable[tuple[ObjectRef, Json]] = ()) -> None:
        self._objects: dict[ObjectRef, Json] = dict(objects)

    def add(self, ref: ObjectRef, obj: Json) -> None:
        """Put an object in, in the place of one with the same reference."""
        self._objects[ref] = obj

    def discard(self, ref: ObjectRef) -> None:
        """Take an object out, if it is there."""
        self._objects.pop(ref, None)

    def get(self, ref: ObjectRef) -> Json | None:
        """The object of that reference, if it is there."""
        return self._objects.get(ref)

    @property
    def refs(self) -> tuple[ObjectRef, ...]:
        """All references, in order."""
        return tuple(self._objects)

    def items(self) -> Iterator[tuple[ObjectRef, Json]]:
        """References with their objects, in order."""
        return iter(self._objects.items())

    def __iter__(self) -> Iterator[Json]:
        return iter(self._objects.values())

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, ref: object) -> bool:
        return ref in self._objects

    def __or__(self, other: "ObjectSet") -> "ObjectSet":
        added = ((ref, obj) for ref, obj in other.items() if ref not in self)
        return ObjectSet((*self.items(), *added))

    def __and__(self, other: "ObjectSet") -> "ObjectSet":
        return ObjectSet((ref, obj) for ref, obj in self.items() if ref in other)

    def __sub__(self, other: "ObjectSet") -> "ObjectSet":
        return ObjectSet((ref, obj) for ref, obj in self.items() if ref not in other)

    def __ge__(self, other: "ObjectSet") -> bool:
        return all(ref in self for ref in other.refs)

    def __le__(self, other: "ObjectSet") -> bool:
        return other >= self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ObjectSet):
            return NotImplemented
        return self._objects.keys() == other._objects.keys()

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"ObjectSet({', '.join(map(str, self._objects))})"
