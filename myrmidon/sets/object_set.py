"""ObjectSet: objects by reference, in a stable order."""

from collections.abc import Iterable, Iterator

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef


class ObjectSet:
    """A set of objects, identified by their references alone.

    Content does not matter for membership and equality: ``a | b`` keeps the object of ``a`` if both
    have one.  Iteration is in the order of insertion.
    """

    __slots__ = ("_objects",)

    def __init__(self, objects: Iterable[tuple[ObjectRef, Json]] = ()) -> None:
        self._objects: dict[ObjectRef, Json] = dict(objects)

    def add(self, ref: ObjectRef, obj: Json) -> None:
        """Add an object, or replace the one with the same reference."""
        self._objects[ref] = obj

    def discard(self, ref: ObjectRef) -> None:
        """Remove the object with that reference, if there is one."""
        self._objects.pop(ref, None)

    def get(self, ref: ObjectRef) -> Json | None:
        """Return the object with that reference; None if there is none."""
        return self._objects.get(ref)

    @property
    def refs(self) -> tuple[ObjectRef, ...]:
        """All references, in order."""
        return tuple(self._objects)

    def items(self) -> Iterator[tuple[ObjectRef, Json]]:
        """Iterate over (reference, object) pairs, in order."""
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

    __hash__ = None  # type: ignore[assignment]  # it is mutable

    def __repr__(self) -> str:
        return f"ObjectSet({', '.join(map(str, self._objects))})"
