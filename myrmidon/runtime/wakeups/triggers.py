"""Triggers: which keys of a controller a change concerns, and why.

- ``self``: the changed object is of the controller's own kind.
- ``child``: the changed object names a parent, by its controller reference or by tracking marks, or
  it is in the way of one of a parent's outputs (``refused_outputs``).
- ``relative``: a ``Watch`` maps the changed object to keys.
- ``read``: the last pass over the key has read the object, or a list that covers it (``readers``).

A change that concerns a key in several ways is one trigger for each, except that ``read`` is left out
if there is another: a controller that reads its children is woken once by each.

Whether a key made the change itself, and so needs no pass, is decided by ``io.writes.own_writes``.
Two frequent cases are left out here, because that saves decoding the object: a key that wrote its own
object, and one that wrote a child that was its child before (``Change.keeps_parent``).
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple, Protocol

from myrmidon.api.objects.accessors import (
    Json,
    annotations_of,
    controller_of,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    ref_of,
)
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.selectors import selector
from myrmidon.api.typed.object_types import kind_of
from myrmidon.fsm.context import Cause
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.declaration.watches import Index, Key, Predicate, Watch, always, takes_lookup
from myrmidon.io.watch.changes import Change, Entry, readable
from myrmidon.io.writes.own_writes import author
from myrmidon.runtime.wakeups.read_dependencies import Readers
from myrmidon.runtime.wakeups.refused_outputs import RefusedOutputs
from myrmidon.sets.ownership.owner_references import tracked_parent

_log = logging.getLogger("myrmidon.triggers")

Event = Literal["create", "update", "delete"]


class Trigger(NamedTuple):
    """A key that should have a pass, and the cause."""

    key: ObjectRef
    cause: Cause


class Indexed(Protocol):
    """Finds cached objects by an index of the controller."""

    def refs(self, kind: Kind, index: str, value: str) -> list[ObjectRef]: ...  # noqa: D102
    def list(self, kind: Kind, *, index: tuple[str, str]) -> list[Json]: ...  # noqa: D102


class Triggers:
    """Maps changes to the keys of one controller."""

    def __init__(
        self,
        controller: type[Controller[Any]],
        failed: Callable[[str, str], None] = lambda _controller, _function: None,
        *,
        refused: RefusedOutputs | None = None,
        readers: Readers | None = None,
        objects: Indexed | None = None,
        when: Predicate | None = None,
    ) -> None:
        """``failed`` is called with the controller and the name of a user's function that raised."""
        self._kind, self._shapes = controller.kind(), controller.shapes
        self._when = when or controller.options.when
        self._managed = frozenset(controller.managed_kinds)
        self._objects = objects
        self._watches = [
            (kind_of(watch.kind), watch, self._function(watch)) for watch in controller.watches
        ]
        self._name, self._failed = controller.name, failed
        self._signature = f"{controller.name}:"  # of all passes: see ``own_writes.author``
        self._refused = RefusedOutputs() if refused is None else refused
        self._readers = Readers() if readers is None else readers

    def of(
        self, change: Change, remote: str | None = None, position: int | None = None
    ) -> list[Trigger]:
        """Return every key that the change concerns; ``remote`` names the cluster that it comes from.

        Keys that have read the object after the change, which is at that ``position`` among all
        changes, are left out.
        """
        ref = change.ref
        triggers: list[Trigger] = []
        if remote is None:
            if ref.kind == self._kind and self._concerns_itself(change):
                triggers.append(Trigger(ref, Cause("self", _event(change), ref)))
            if ref.kind in self._managed:
                parents = self._parents(change)
                if parents:
                    cause = Cause("child", _event(change), ref)
                    triggers += [Trigger(parent, cause) for parent in parents]
        for kind, watch, to in self._watches:
            if kind == ref.kind and watch.remote == remote:
                cause = Cause("relative", _event(change), ref)
                triggers += [Trigger(key, cause) for key in self._relatives(watch, to, change)]
        if remote is None and self._readers.is_used:
            triggers += self._reads(change, position, {key for key, _ in triggers})
        return triggers

    def _concerns_itself(self, change: Change) -> bool:
        """Whether a change of an object of the controller's own kind is a reason for a pass over it.

        The writes of its own pass are not, and are recognised before the predicate decodes them.
        """
        if change.by and change.by == author(self._name, change.ref):
            return False
        return self._passes(self._when, change)

    def _reads(
        self, change: Change, position: int | None, others: set[ObjectRef]
    ) -> Iterator[Trigger]:
        """Yield the keys that have read the object; all that read it in one state share a cause."""
        causes: dict[str, Cause] = {}
        readers = self._readers.of(change, position)
        if not readers or not self._passes(self._shapes[change.ref.kind].read_when, change):
            return
        for key, state in readers.items():
            if key not in others:
                cause = causes.get(state)
                if cause is None:
                    cause = causes[state] = Cause("read", _event(change), change.ref, state)
                yield Trigger(key, cause)

    def _parents(self, change: Change) -> list[ObjectRef]:
        """Return the parents before and after the change: a child that was moved concerns both.

        A change that the predicate of the kind does not pass concerns none, unless it moved the child.
        A parent that wrote its own child needs no pass, so it is left out if that is known.
        """
        if change.keeps_parent and change.by.startswith(self._signature):
            return list(self._refused.woken_by(change)) if len(self._refused) else []
        found: dict[ObjectRef, None] = {}
        for entry in (change.old, change.new):
            parent = None if entry is None else _parent_in(entry, change.ref.kind, self._kind)
            if parent is not None:
                found[parent] = None
        when = self._shapes[change.ref.kind].child_when
        if when is not always and len(found) == 1 and not self._passes(when, change):
            found.clear()
        if len(self._refused):
            found.update(dict.fromkeys(self._refused.woken_by(change)))
        return list(found)

    def _passes(self, when: Predicate, change: Change) -> bool:
        """Whether a change passes a predicate.

        New, deleted and re-created objects, those whose deletion begins, and changes of our own marks
        (suspension, for example) always pass.  So does a change that the predicate cannot judge.
        """
        if when is always:
            return True
        before, after = change.before, change.after
        if before is None or after is None or change.type == "replaced":
            return True
        if is_deleting(before) != is_deleting(after) or _marks(before) != _marks(after):
            return True
        try:
            return when(before, after)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException:  # noqa: BLE001 - the user's function, one bad object of many
            self._report(when.name, change)
            return True

    def _report(self, function: str, change: Change) -> None:
        """Count and log the exception of a user's function."""
        self._failed(self._name, function)
        _log.exception(
            "watch function failed",
            extra={"facts": {"of": change.ref, "controller": self._name, "function": function}},
        )

    def _function(self, watch: Watch) -> Callable[[Json], Iterable[Key]]:
        """Return ``to`` of a watch as a function of the changed object alone."""
        to: Any = watch.to
        if isinstance(to, Index):
            return partial(self._indexed, to.name)
        return (lambda obj: to(obj, self._lookup)) if takes_lookup(to) else to

    def _indexed(self, index: str, obj: Json) -> list[ObjectRef]:
        """Return the objects that are indexed under the name of an object, see ``Index``."""
        assert self._objects is not None, "a running controller has its caches"
        name, namespace = name_of(obj), namespace_of(obj)
        found = self._objects.refs(self._kind, index, name)
        if not namespace:
            return found
        near = [ref for ref in found if ref.namespace in ("", namespace)]
        return near + self._objects.refs(self._kind, index, f"{namespace}/{name}")

    def _lookup(self, index: str, value: str) -> list[Json]:
        assert self._objects is not None, "a running controller has its caches"
        return self._objects.list(self._kind, index=(index, value))

    def _relatives(
        self, watch: Watch, to: Callable[[Json], Iterable[Key]], change: Change
    ) -> list[ObjectRef]:
        """Return the keys that the user's functions return; none if one of them raises.

        An exception is counted and logged as a failure of that function for that object, and the next
        changes are handled as usual.
        """
        before, after = change.before, change.after
        found: dict[ObjectRef, None] = {}
        function = watch.when.name
        try:
            if watch.when(before, after):
                function = getattr(watch.to, "__qualname__", "to")
                for obj in (before, after):
                    if obj is not None and _sees(watch, obj):
                        found.update(dict.fromkeys(self._keys(to(obj), obj)))
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException:  # noqa: BLE001 - the user's function, one bad object of many
            self._report(function, change)
        return list(found)

    def _keys(self, keys: Iterable[Key], source: Json) -> Iterator[ObjectRef]:
        # A single key instead of a list of keys is accepted; a str is not taken letter by letter.
        for key in (keys,) if isinstance(keys, str | ObjectRef | dict) else keys:
            yield key_of(self._kind, key, namespace_of(source))


def _sees(watch: Watch, obj: Json) -> bool:
    """Whether an object is in the namespaces and has the labels of a watch."""
    if watch.namespaces and namespace_of(obj) not in watch.namespaces:
        return False
    return not watch.selector or selector(watch.selector).matches(labels_of(obj))


def _marks(obj: Json) -> dict[str, str]:
    """Return the labels and annotations by which users steer the framework."""
    return {
        name: value
        for name, value in (*labels_of(obj).items(), *annotations_of(obj).items())
        if name.startswith("myrmidon.dev/")
    }


@lru_cache(maxsize=512)
def _parent_in(entry: Entry, child: Kind, kind: Kind) -> ObjectRef | None:
    """Return the parent of that kind in an entry of a cache.

    The entry after a change is the one before the next change, so half of the answers are known.
    """
    obj = readable(child, entry)
    return None if obj is None else parent_of(obj, kind)


def parent_of(obj: Json, kind: Kind) -> ObjectRef | None:
    """Return the parent of that kind that an object names, whether or not the parent exists."""
    owner = controller_of(obj)
    if owner is None:
        return tracked_parent(obj, kind)
    group = str(owner.get("apiVersion") or "").rpartition("/")[0]
    if owner.get("kind") != kind.kind or group != kind.group:
        return None
    return ObjectRef(kind, str(owner.get("name")), namespace_of(obj) if kind.namespaced else "")


def _event(change: Change) -> Event:
    if change.new is None:
        return "delete"
    return "create" if change.old is None else "update"


def key_of(kind: Kind, key: Key, namespace: str = "") -> ObjectRef:
    """Return the reference for a key in any form that a user's function may return."""
    if isinstance(key, ObjectRef):
        return key
    if isinstance(key, dict):
        return ref_of(kind, key)
    if isinstance(key, str):
        space, slash, name = key.rpartition("/")
        key = (space if slash else namespace, name)
    return ObjectRef(kind, key[1], key[0] if kind.namespaced else "")
