"""Triggers: which keys of a controller a change concerns, and why.

- ``self``: the changed object is of the controller's own kind.
- ``child``: the changed object names a parent, by its controller reference or by tracking marks, or
  it is in the way of one of a parent's outputs (``refused_outputs``).
- ``relative``: a ``Watch`` maps the changed object to keys.

Whether a key made the change itself, and so needs no pass, is decided by ``io.own_writes``.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

from myrmidon.api.objects.accessors import Json, controller_of, labels_of, namespace_of
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.selectors import selector
from myrmidon.api.typed.object_types import kind_of
from myrmidon.fsm.context import Cause, Relation
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.watches import Key, Watch
from myrmidon.io.watch.changes import Change
from myrmidon.runtime.refused_outputs import RefusedOutputs
from myrmidon.sets.ownership import tracked_parent

_log = logging.getLogger("myrmidon.triggers")

Event = Literal["create", "update", "delete"]


class Trigger(NamedTuple):
    """A key that should have a pass, and the cause."""

    key: ObjectRef
    cause: Cause


class Triggers:
    """Maps changes to the keys of one controller."""

    def __init__(
        self,
        controller: type[Controller[Any]],
        failed: Callable[[str, str], None] = lambda _controller, _function: None,
        refused: RefusedOutputs | None = None,
    ) -> None:
        """``failed`` is called with the controller and the name of a user's function that raised."""
        self._kind = controller.kind()
        self._managed = frozenset(controller.managed_kinds)
        self._watches = [(kind_of(watch.kind), watch) for watch in controller.watches]
        self._name, self._failed = controller.name, failed
        self._refused = RefusedOutputs() if refused is None else refused

    def of(self, change: Change, remote: str | None = None) -> list[Trigger]:
        """Return every key that the change concerns; ``remote`` names the cluster that it comes from."""
        ref, event = change.ref, _event(change)
        found: list[tuple[Relation, ObjectRef]] = []
        if remote is None and ref.kind == self._kind:
            found.append(("self", ref))
        if remote is None and ref.kind in self._managed:
            found += [("child", parent) for parent in self._parents(change)]
        for kind, watch in self._watches:
            if kind == ref.kind and watch.remote == remote:
                found += [("relative", key) for key in self._relatives(watch, change)]
        return [Trigger(key, Cause(relation, event, ref)) for relation, key in found]

    def _parents(self, change: Change) -> list[ObjectRef]:
        """Return the parents before and after the change: a child that was moved concerns both."""
        found: dict[ObjectRef, None] = {}
        for obj in (change.before, change.after):
            parent = parent_of(obj, self._kind) if obj is not None else None
            if parent is not None:
                found[parent] = None
        found.update(dict.fromkeys(self._refused.woken_by(change)))
        return list(found)

    def _relatives(self, watch: Watch, change: Change) -> list[ObjectRef]:
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
                        found.update(dict.fromkeys(self._keys(watch.to(obj), obj)))
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException:  # noqa: BLE001 - the user's function, one bad object of many
            self._failed(self._name, function)
            _log.exception(
                "watch function failed",
                extra={"facts": {"of": change.ref, "controller": self._name, "function": function}},
            )
        return list(found)

    def _keys(self, keys: Iterable[Key], source: Json) -> Iterator[ObjectRef]:
        # A single key instead of a list of keys is accepted; a str is not taken letter by letter.
        for key in (keys,) if isinstance(keys, str | ObjectRef) else keys:
            yield key_of(self._kind, key, namespace_of(source))


def _sees(watch: Watch, obj: Json) -> bool:
    """Whether an object is in the namespaces and has the labels of a watch."""
    if watch.namespaces and namespace_of(obj) not in watch.namespaces:
        return False
    return not watch.selector or selector(watch.selector).matches(labels_of(obj))


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
    if isinstance(key, str):
        space, slash, name = key.rpartition("/")
        key = (space if slash else namespace, name)
    return ObjectRef(kind, key[1], key[0] if kind.namespaced else "")
