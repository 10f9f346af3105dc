"""World: what one controller sees of its cluster, through shared caches."""

from collections.abc import Iterable, Mapping
from typing import Any

from myrmidon.api.objects import Json, ref_of, version_of
from myrmidon.api.refs import Kind, ObjectRef
from myrmidon.errors import UnreadableObjectError
from myrmidon.fsm.controller import Controller
from myrmidon.io.caches import Caches
from myrmidon.io.indexes import IndexFunction
from myrmidon.io.shared import Subscription
from myrmidon.io.views import View
from myrmidon.runtime.echoes import Echoes


class World:
    """Reads of declared kinds, and the record of own writes.

    Undeclared kinds have no view here: they are never listed, and reading one is refused before it
    comes to this.
    """

    def __init__(
        self,
        controller: type[Controller[Any]],
        caches: Caches,
        echoes: Echoes,
        namespaces: Iterable[str] = (),
    ) -> None:
        self._caches, self._echoes, self._controller = caches, echoes, controller
        options = controller.options
        spaces = options.namespaces or tuple(namespaces)
        self._namespaces = frozenset(spaces if controller.kind().namespaced else ())
        self._views: dict[Kind, View] = {
            controller.kind(): caches.view(
                controller.kind(),
                namespaces=spaces,
                labels=options.selector,
                indexes=_indexes(controller, controller.kind()),
            )
        }
        for kind in (*controller.managed_kinds, *controller.read_kinds):
            if kind not in self._views:
                self._views[kind] = caches.view(
                    kind, namespaces=spaces, indexes=_indexes(controller, kind)
                )

    def subscribe(self, subscription: Subscription) -> None:
        """Hear of every change of every declared kind."""
        for view in self._views.values():
            view.subscribe(subscription)

    async def wait_synced(self) -> None:
        """Wait until every declared kind was listed once."""
        for view in self._views.values():
            await view.wait_synced()

    @property
    def is_synced(self) -> bool:
        """Whether every declared kind was listed once."""
        return all(view.is_synced for view in self._views.values())

    def close(self) -> None:
        """Need the caches no more."""
        for view in self._views.values():
            view.close()

    def concerns(self, ref: ObjectRef) -> bool:
        """Whether one of the controller's own objects is where it looks.

        What lives in no namespace can name a parent in any of them: somebody else's.
        """
        return not self._namespaces or ref.namespace in self._namespaces

    # -------------------------------------------------------------------------- reading

    def get(self, ref: ObjectRef) -> Json | None:
        """Return a copy of one object, None if it does not exist.  Raise if it is unreadable."""
        return self._views[ref.kind].get(ref.name, ref.namespace)

    def look(self, ref: ObjectRef) -> Json | None:
        """Return a copy of one object, None if it does not exist, ``{}`` if it is unreadable."""
        try:
            return self.get(ref)
        except UnreadableObjectError:
            return {}

    def stamp(self, ref: ObjectRef) -> int:
        """Return a hash of the cached bytes of an object, 0 if it does not exist."""
        return self._views[ref.kind].stamp(ref.name, ref.namespace)

    def list(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        labels: Mapping[str, str] | str | None = None,
        index: tuple[str, str] | None = None,
    ) -> list[Json]:
        """All objects that match."""
        named = (_named(self._controller, index[0]), index[1]) if index else None
        return self._views[kind].list(namespace, labels=labels, index=named)

    # ----------------------------------------------------------------------- own writes

    def is_unknown(self, ref: ObjectRef) -> bool:
        """Whether a write to the object got no clear answer, and no read since."""
        return self._caches.is_unknown(ref)

    def mark_unknown(self, ref: ObjectRef) -> None:
        """A write to the object got no clear answer."""
        self._caches.mark_unknown(ref)

    def clear_unknown(self, ref: ObjectRef) -> None:
        """A read has settled it."""
        self._caches.clear_unknown(ref)

    def record_write(self, kind: Kind, obj: Json, *, by: str) -> None:
        """Show the answer to a write at once."""
        ref = ref_of(kind, obj)
        self._echoes.expect(by, ref, version_of(obj))
        self._caches.record_write(ref, obj, by=by)

    def record_delete(self, ref: ObjectRef, *, uid: str, by: str) -> None:
        """Show that an object is gone at once."""
        self._caches.record_delete(ref, uid=uid, by=by)


def _indexes(controller: type[Controller[Any]], kind: Kind) -> dict[str, IndexFunction]:
    """What the controller declares for a kind, under names that no other controller uses."""
    functions = controller.index_functions.get(kind, {})
    return {_named(controller, name): function for name, function in functions.items()}


def _named(controller: type[Controller[Any]], index: str) -> str:
    return f"{controller.name}/{index}"
