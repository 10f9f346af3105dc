"""ClusterView: what one controller sees of its cluster, through shared caches."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from myrmidon.api.objects.accessors import Json, labels_of
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.selectors import Selector, parse_selector
from myrmidon.errors import UnreadableObjectError
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.options import ControllerOptions
from myrmidon.io.watch.caches import Caches
from myrmidon.io.watch.indexes import IndexFunction, words_of
from myrmidon.io.watch.projections import Projection
from myrmidon.io.watch.subscriptions import Subscription
from myrmidon.io.watch.views import View
from myrmidon.runtime.children import by_parent

Refs: TypeAlias = list[ObjectRef]
_CHILDREN = "myrmidon.dev/children"  # the index of all controllers that look for children


class ClusterView:
    """Reads of the kinds that a controller declares.

    Other kinds have no view here: they are never listed, and a state that reads one is refused before
    this class is asked.
    """

    def __init__(
        self,
        controller: type[Controller[Any]],
        caches: Caches,
        namespaces: Iterable[str] = (),
        *,
        options: ControllerOptions | None = None,
    ) -> None:
        self._controller = controller
        options = options or controller.options
        spaces = self._spaces = options.namespaces or tuple(namespaces)
        shapes = [controller.shapes[kind] for kind in controller.managed_kinds]
        self.covers_all = not spaces and not any(
            each.namespaces or each.selector for each in shapes
        )
        """Whether every object of managed kinds is watched, so that ``covers`` need not be asked."""
        self._selectors: dict[Kind, Selector] = {
            kind: parse_selector(controller.shapes[kind].selector)
            for kind in controller.managed_kinds
        }
        self._namespaces = frozenset(spaces if controller.kind().namespaced else ())
        self._views: dict[Kind, View] = {
            controller.kind(): caches.view(
                controller.kind(),
                namespaces=spaces,
                labels=options.selector,
                indexes=self._indexes(controller.kind(), options),
            )
        }
        for kind in (*controller.managed_kinds, *controller.read_kinds):
            shape = controller.shapes[kind]
            if kind not in self._views and shape.cached:
                self._views[kind] = caches.view(
                    kind,
                    namespaces=shape.namespaces or spaces,
                    labels=shape.selector,
                    fields=shape.field_selector,
                    metadata_only=shape.metadata_only,
                    indexes=self._indexes(kind, options),
                    transform=Projection(shape.fields) if shape.fields else None,
                )
        self._by_parent = [
            self._views[kind]
            for kind in controller.managed_kinds
            if _CHILDREN in self._indexes(kind, options)
        ]

    def subscribe(self, subscription: Subscription) -> None:
        """Pass every change of every declared kind to a subscription."""
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
        """Close the views; a cache without views is no longer watched."""
        for view in self._views.values():
            view.close()

    def concerns(self, ref: ObjectRef) -> bool:
        """Whether the object is in a namespace that this controller handles.

        A cluster-scoped child may name a parent in a namespace that another process handles.
        """
        return not self._namespaces or ref.namespace in self._namespaces

    def _indexes(self, kind: Kind, options: ControllerOptions) -> dict[str, IndexFunction]:
        """Return the indexes that the controller declares for a kind, under names of its own.

        Kinds whose objects must be found by their parent have an index for that as well.
        """
        functions = self._controller.index_functions.get(kind, {})
        indexes = {_named(self._controller, name): each for name, each in functions.items()}
        deletes = options.prune or self._controller.graph.finalizer is not None
        finds = deletes or options.policy == "orphan"
        if finds and kind in self._controller.managed_kinds:
            indexes[_CHILDREN] = by_parent
        return indexes

    def namespaces_of(self, kind: Kind) -> tuple[str, ...]:
        """Return the namespaces in which a kind is watched; empty for all of them."""
        return self._controller.shapes[kind].namespaces or self._spaces

    def selects(self, kind: Kind, obj: Json) -> bool:
        """Whether an object of a managed kind has the labels by which the kind is cached."""
        return self._selectors[kind].matches(labels_of(obj))

    def covers(self, ref: ObjectRef) -> bool:
        """Whether a cache would show the object: its kind is declared, its namespace is watched."""
        view = self._views.get(ref.kind)
        return view is not None and view.covers(ref.namespace)

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
        """Return a copy of each object that matches."""
        named = (_named(self._controller, index[0]), index[1]) if index else None
        return self._views[kind].list(namespace, labels=labels, index=named)

    def refs(self, kind: Kind, index: str, value: str) -> Refs:
        """Return references of the objects that one of the controller's indexes finds."""
        return self._views[kind].refs(_named(self._controller, index), value)

    def words(self, kind: Kind, index: str, obj: Json) -> Iterable[str]:
        """Return the values of an object in one of the controller's indexes."""
        function = self._controller.index_functions.get(kind, {}).get(index)
        return () if function is None else words_of(_named(self._controller, index), function, obj)

    def children(self, uid: str) -> Refs:
        """Return the cached objects of managed kinds that name the parent of that uid.

        Empty for controllers that neither prune nor have a finalizer graph: only these need to
        find children that no status records, so only these have the index.
        """
        return [ref for view in self._by_parent for ref in view.refs(_CHILDREN, uid)]


def _named(controller: type[Controller[Any]], index: str) -> str:
    return f"{controller.name}/{index}"
