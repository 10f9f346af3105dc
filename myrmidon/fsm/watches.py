"""Watch: which other objects concern us, and which of ours they concern."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from myrmidon.api.objects import Json, annotations_of, generation_of, labels_of
from myrmidon.api.refs import ObjectRef
from myrmidon.patch.merge_patch import same

Key: TypeAlias = ObjectRef | tuple[str, str] | str
"""An object of ours: a reference, ``(namespace, name)``, ``"namespace/name"`` or ``"name"``."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """A question about a change: the object before it (None if new) and after it (None if gone).

    Predicates combine: ``changed("data") & ~labels_changed``.
    """

    asks: Callable[[Json | None, Json | None], bool]
    name: str = "predicate"

    def __call__(self, before: Json | None, after: Json | None) -> bool:
        """Ask."""
        return self.asks(before, after)

    def __and__(self, other: "Predicate") -> "Predicate":
        return Predicate(lambda b, a: self(b, a) and other(b, a), f"({self.name} & {other.name})")

    def __or__(self, other: "Predicate") -> "Predicate":
        return Predicate(lambda b, a: self(b, a) or other(b, a), f"({self.name} | {other.name})")

    def __invert__(self) -> "Predicate":
        return Predicate(lambda b, a: not self(b, a), f"~{self.name}")


def changed(*paths: str) -> Predicate:
    """One of these fields changed: ``changed("data", "spec.replicas")``.  True for new and gone objects."""

    def asks(before: Json | None, after: Json | None) -> bool:
        if before is None or after is None:
            return True
        return any(not same(_at(before, path), _at(after, path)) for path in paths)

    return Predicate(asks, f"changed({', '.join(paths)})")


def _differs(of: Callable[[Mapping[str, Any]], Any], name: str) -> Predicate:
    return Predicate(lambda b, a: b is None or a is None or of(b) != of(a), name)


generation_changed = _differs(generation_of, "generation_changed")
labels_changed = _differs(labels_of, "labels_changed")
annotations_changed = _differs(annotations_of, "annotations_changed")
always = Predicate(lambda _before, _after: True, "always")


@dataclass(frozen=True, slots=True)
class Watch:
    """Another kind whose objects concern ours.

    ``to`` maps one of its objects to the keys of ours; ``when`` filters changes before that.
    ``remote`` names another cluster, as the manager knows it.
    """

    kind: Any
    to: Callable[[Json], Iterable[Key]]
    when: Predicate = always
    namespaces: tuple[str, ...] = ()
    selector: str = ""
    remote: str | None = None


def _at(obj: Mapping[str, Any], path: str) -> Any:
    value: Any = obj
    for step in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(step)
    return value
