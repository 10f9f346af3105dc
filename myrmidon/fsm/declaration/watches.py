"""Watch: trigger passes when objects of another kind change; predicates that filter the changes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, Protocol, TypeAlias

from myrmidon.api.objects.accessors import Json, annotations_of, generation_of, labels_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.typed.object_types import KindLike
from myrmidon.api.values.equality import same
from myrmidon.errors import DefinitionError

Key: TypeAlias = ObjectRef | tuple[str, str] | str | Json
"""An object of the controller: a reference, ``(namespace, name)``, ``"namespace/name"``, ``"name"``,
or the object itself, as JSON."""


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
class Index:
    """For ``Watch(to=Index("secret"))``: the controller's objects that this index finds.

    ``Controller.indexes`` declares it for the controller's own kind.  A changed object finds the
    objects of its own namespace that are indexed under its name, and those of any namespace that are
    indexed under ``namespace/name``.  A cluster-scoped object finds those of all namespaces.
    """

    name: str


class Lookup(Protocol):
    """Finds the controller's own objects by one of their indexes, in the cache."""

    def __call__(self, index: str, value: str) -> list[Json]:
        """Return a copy of each object that the index holds under the value."""
        ...


@dataclass(frozen=True, slots=True)
class Watch:
    """Trigger passes when objects of another kind change.

    - ``kind``: the kind to watch, as a ``Kind`` or a Resource class.
    - ``to``: which of the controller's objects get a pass: an ``Index`` of theirs, a function from
      the changed object to their keys, or a function of the changed object and a ``Lookup``.
    - ``when``: a predicate that a change must pass before ``to`` is called.  Default: every change.
    - ``namespaces``, ``selector``: watch only objects in these namespaces, with these labels.
      Default: empty, no further limit.
    - ``remote``: the name of another cluster, as given to the manager.  Default: None, the same
      cluster; only then can states read the kind.

    A kind that is neither managed nor read is cached as far as its watches go, and states see only
    that part of it; a kind in ``reads`` is cached as ``reads`` says.
    """

    kind: KindLike
    to: Index | Callable[[Json], Iterable[Key]] | Callable[[Json, Lookup], Iterable[Key]]
    when: Predicate = always
    namespaces: tuple[str, ...] = ()
    selector: str = ""
    remote: str | None = None

    def __post_init__(self) -> None:
        when: Any = self.when
        if not callable(when):
            field = when if isinstance(when, str) else "spec"
            raise DefinitionError(
                f"a Watch has when={when!r}, which is not a predicate.\n"
                f'  fix: write when=changed("{field}")'
            )


def takes_lookup(to: Callable[..., Iterable[Key]]) -> bool:
    """Whether the function of a watch takes a ``Lookup`` beside the object.  Raise if it is neither.

    The error is a TypeError, as for any function that is called with the wrong arguments.
    """
    try:
        shape = signature(to)
    except ValueError:  # a function of a C library, whose signature is unknown
        return False
    try:
        shape.bind(None)
    except TypeError:
        shape.bind(None, None)
        return True
    return False


def _at(obj: Mapping[str, Any], path: str) -> Any:
    value: Any = obj
    for step in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(step)
    return value
