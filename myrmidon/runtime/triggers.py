"""Which of our objects a change concerns, and why.

- ``self``: the change is of the object itself.
- ``child``: the changed object names a parent, by its controller reference or by tracking marks.
- ``relative``: a ``Watch`` maps the changed object to ours.

A change that a pass made itself does not wake that same pass again: it knows.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from myrmidon.api.objects import Json, controller_of, labels_of, namespace_of
from myrmidon.api.refs import Kind, ObjectRef
from myrmidon.api.selectors import selector
from myrmidon.fsm.context import Cause, Relation
from myrmidon.fsm.controller import Controller, kind_of
from myrmidon.fsm.watches import Key, Watch
from myrmidon.io.watch.changes import Change
from myrmidon.sets.ownership import tracked_parent

_log = logging.getLogger("myrmidon.triggers")

Event = Literal["create", "update", "delete"]


class Trigger(NamedTuple):
    """One of our objects should have a pass, because of this."""

    key: ObjectRef
    cause: Cause


class Triggers:
    """From a change to the keys of one controller."""

    def __init__(
        self,
        controller: type[Controller[Any]],
        failed: Callable[[str, str], None] = lambda _controller, _function: None,
    ) -> None:
        """``failed`` is called with the controller and the name of a user's function that raised."""
        self._kind = controller.kind()
        self._managed = frozenset(controller.managed_kinds)
        self._watches = [(kind_of(watch.kind), watch) for watch in controller.watches]
        self._name, self._failed = controller.name, failed

    def of(self, change: Change, remote: str | None = None) -> list[Trigger]:
        """Everything that the change concerns; ``remote`` names the cluster that it comes from."""
        ref, event, by = change.ref, _event(change), change.by
        found: list[tuple[Relation, ObjectRef]] = []
        if remote is None and ref.kind == self._kind:
            found.append(("self", ref))
        if remote is None and ref.kind in self._managed:
            found += [("child", parent) for parent in self._parents(change)]
        for kind, watch in self._watches:
            if kind == ref.kind and watch.remote == remote:
                found += [("relative", key) for key in self._relatives(watch, change)]
        return [
            Trigger(key, Cause(relation, event, ref))
            for relation, key in found
            if not by or by != author(self._name, key)
        ]

    def _parents(self, change: Change) -> list[ObjectRef]:
        """Whoever was or is the parent: a child that was taken away concerns its old one."""
        found: dict[ObjectRef, None] = {}
        for obj in (change.before, change.after):
            parent = parent_of(obj, self._kind) if obj is not None else None
            if parent is not None:
                found[parent] = None
        return list(found)

    def _relatives(self, watch: Watch, change: Change) -> list[ObjectRef]:
        """The keys that the user's functions return; none if one of them raises.

        Whatever it raises is a failure of that function for that object: the feed goes on.
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
        # One key instead of a list of keys is meant as one, not letter by letter.
        for key in (keys,) if isinstance(keys, str | ObjectRef) else keys:
            yield key_of(self._kind, key, namespace_of(source))


def _sees(watch: Watch, obj: Json) -> bool:
    """Whether an object is in the namespaces and has the labels that a watch asks for."""
    if watch.namespaces and namespace_of(obj) not in watch.namespaces:
        return False
    return not watch.selector or selector(watch.selector).matches(labels_of(obj))


@lru_cache(maxsize=1024)  # asked for each change that a pass makes
def author(controller: str, key: ObjectRef) -> str:
    """How a pass signs its writes, so that their echo is told from other people's changes."""
    return f"{controller}:{key.key}"


def parent_of(obj: Json, kind: Kind) -> ObjectRef | None:
    """The parent of that kind which an object names, whether or not it exists."""
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
    """A reference from whatever a user's function returned for it."""
    if isinstance(key, ObjectRef):
        return key
    if isinstance(key, str):
        space, slash, name = key.rpartition("/")
        key = (space if slash else namespace, name)
    return ObjectRef(kind, key[1], key[0] if kind.namespaced else "")
