"""Watch: trigger passes when objects of another kind change; predicates that filter the changes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from myrmidon.api.objects.accessors import Json, annotations_of, generation_of, labels_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.values.equality import same

Key: TypeAlias = ObjectRef | tuple[str, str] | str
"""An object of the controller: a reference, ``(namespace, name)``, ``"namespace/name"`` or
``"name"``."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """A filter for watch events: a function of the object before and after the change.

    ``before`` is None for a new object, ``after`` for a deleted one.  Predicates combine with
    ``&``, ``|`` and ``~``: ``changed("data") & ~labels_changed``.
    """

    asks: Callable[[Json | None, Json | None], bool]
    name: str = "predicate"

    def __call__(self, before: Json | None, after: Json | None) -> bool:
        """Whether the change passes the filter."""
        return self.asks(before, after)

    def __and__(self, other: "Predicate") -> "Predicate":
        return Predicate(lambda b, a: self(b, a) and other(b, a), f"({self.name} & {other.name})")

    def __or__(self, other: "Predicate") -> "Predicate":
        return Predicate(lambda b, a: self(b, a) or other(b, a), f"({self.name} | {other.name})")

    def __invert__(self) -> "Predicate":
        return Predicate(lambda b, a: not self(b, a), f"~{self.name}")


def changed(*paths: str) -> Predicate:
    """Return a predicate for a change of one of these fields: ``changed("data", "spec.replicas")``.

    New and deleted objects pass as well.
    """

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
    """Trigger passes when objects of another kind change.

    - ``kind``: the kind to watch, as a ``Kind`` or a Resource class.
    - ``to``: a function from the changed object to the keys of the controller's objects that get a
      pass.
    - ``when``: a predicate that a change must pass before ``to`` is called.  Default: every change.
    - ``namespaces``, ``selector``: watch only objects in these namespaces, with these labels.
      Default: empty, no further limit.
    - ``remote``: the name of another cluster, as given to the manager.  Default: None, the same
      cluster; only then can states read the kind.
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
