"""ClusterView: what one controller sees of its cluster, through shared caches."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from myrmidon.api.objects.accessors import Json, labels_of
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.selectors import Selector, parse_selector
from myrmidon.errors import UnreadableObjectError
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.declaration.options import ControllerOptions
from myrmidon.io.lists.slices import ShardRole
from myrmidon.io.watch.caches import Caches
from myrmidon.io.watch.indexes import IndexFunction, words_of
from myrmidon.io.watch.projections import Projection
from myrmidon.io.watch.subscriptions import Subscription
from myrmidon.io.watch.views import View
from myrmidon.runtime.views.children import by_parent

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
        follows: bool = False,
    ) -> None:
        """``follows``: begin with no namespace; ``enter`` and ``leave`` change them."""
        self._controller = controller
        options = options or controller.options
        self._spaces = dict.fromkeys(() if follows else options.namespaces or tuple(namespaces))
        shapes = [controller.shapes[kind] for kind in controller.managed_kinds]
        everywhere = not self._spaces and not follows
        self.covers_all = everywhere and not any(
            each.namespaces or each.selector for each in shapes
        )
        """Whether every object of managed kinds is watched, so that ``covers`` need not be asked."""
        self._concerns_all = everywhere or not controller.kind().namespaced
        self._concerns: Callable[[ObjectRef], bool] = lambda ref: ref.namespace in self._spaces
        self._selectors: dict[Kind, Selector] = {
            kind: parse_selector(controller.shapes[kind].selector)
            for kind in controller.managed_kinds
        }
        spaces = None if follows else self._spaces
        self._views: dict[Kind, View] = {
            controller.kind(): caches.view(
                controller.kind(),
                namespaces=spaces,
                labels=options.selector,
                indexes=self._indexes(controller.kind(), options),
                role=self._role(controller.kind()),
            )
        }
        for kind in (*controller.managed_kinds, *controller.read_kinds):
            shape = controller.shapes[kind]
            if kind not in self._views and shape.cached:
                # Labels choose namespaces of the home cluster only.
                where = () if follows and kind.cluster else spaces
                self._views[kind] = caches.view(
                    kind,
                    namespaces=shape.namespaces or where,
                    labels=shape.selector,
                    fields=shape.field_selector,
                    metadata_only=shape.metadata_only,
                    indexes=self._indexes(kind, options),
                    transform=Projection(shape.fields) if shape.fields else None,
                    role=self._role(kind),
                )
        self._managed = [kind for kind in controller.managed_kinds if kind in self._views]
        self._by_parent = [
            self._views[kind]
            for kind in controller.managed_kinds
            if _CHILDREN in self._indexes(kind, options)
        ]

    def _role(self, kind: Kind) -> ShardRole:
        """Return which objects of a kind are enough if this process keeps some slices only.

        A kind that the controller declares to read is kept as a whole.  So is a managed kind in
        namespaces of its own, and the controller's own kind if it manages that as well, or creates
        objects that are missing: an object of another slice would look as if it were missing.
        """
        controller = self._controller
        if kind in controller.read_kinds or controller.shapes[kind].namespaces:
            return "all"
        if kind != controller.kind():
            return "child"
        makes = controller.options.create_if_not_found or kind in controller.managed_kinds
        return "all" if makes else "own"

    def subscribe(self, subscription: Subscription) -> None:
        """Pass every change of every declared kind to a subscription."""
        for view in self._views.values():
            view.subscribe(subscription)

    async def wait_synced(self) -> None:
        """Wait until every declared kind of the home cluster was listed once.

        A remote cluster that cannot be reached holds up only what reads it (``RemoteView``).
        """
        for view in self._home():
            await view.wait_synced()

    @property
    def is_synced(self) -> bool:
        """Whether every declared kind was listed once."""
        return all(view.is_synced for view in self._home())

    def _home(self) -> list[View]:
        return [view for view in self._views.values() if not view.kind.cluster]

    def close(self) -> None:
        """Close the views; a cache without views is no longer watched."""
        for view in self._views.values():
            view.close()

    def concerns(self, ref: ObjectRef) -> bool:
        """Whether the object is in a namespace, and in a slice, that this controller handles.

        A cluster-scoped child may name a parent in a namespace that another process handles.
        """
        return self._concerns_all or self._concerns(ref)

    def restrict(self, owns: Callable[[ObjectRef], bool]) -> None:
        """Let only objects for which ``owns`` is true have passes; the others can still be read."""
        everywhere, self._concerns_all = self._concerns_all, False
        self._concerns = lambda ref: (everywhere or ref.namespace in self._spaces) and owns(ref)

    def uid(self, ref: ObjectRef) -> str:
        """Return the uid of an object of the controller's kind, "" if it is not cached."""
        view = self._views[self._controller.kind()]
        return view.uid(ref.name, ref.namespace) if view.covers(ref.namespace) else ""

    # ----------------------------------------------------------------------- namespaces

    async def prepare(self, namespace: str) -> None:
        """List every declared kind in another namespace.

        No pass may see the objects of one kind before those of the others are there: a state would
        take a child that is not listed yet for missing.
        """
        for view in self._following():
            await view.prepare(namespace)

    def enter(self, namespace: str) -> None:
        """Include a namespace that was prepared; the subscribers get the objects that exist."""
        self._spaces[namespace] = None
        for view in self._following():
            view.enter(namespace)

    def ignore(self, namespace: str) -> None:
        """Let objects of a namespace have no more passes; they can still be read until ``leave``."""
        self._spaces.pop(namespace, None)

    def leave(self, namespace: str) -> None:
        """Watch the objects of a namespace no more, and free what is cached of them."""
        self.ignore(namespace)
        for view in self._following():
            view.leave(namespace)

    def keys(self, namespace: str) -> Refs:
        """Return the controller's own objects in a namespace, without decoding them."""
        kind = self._controller.kind()
        return [ObjectRef(kind, name, namespace) for name in self._views[kind].names(namespace)]

    def own_keys(self) -> Refs:
        """Return all objects of the controller's kind, without decoding them."""
        return self._views[self._controller.kind()].all_refs()

    def _following(self) -> list[View]:
        """Return the views whose namespaces are those of the controller, and change with them."""
        shapes = self._controller.shapes
        return [
            view
            for view in self._home()
            if view.kind.namespaced and not shapes[view.kind].namespaces
        ]

    def _indexes(self, kind: Kind, options: ControllerOptions) -> dict[str, IndexFunction]:
        """Return the indexes that the controller declares for a kind, under names of its own.

        Kinds whose objects must be found by their parent have an index for that as well.
        """
        functions = self._controller.index_functions.get(kind, {})
        indexes = {_named(self._controller, name): each for name, each in functions.items()}
        graph = self._controller.graph
        deletes = options.prune or graph.finalizer is not None
        looks = any(state.takes_context for state in graph.states.values())  # ctx.children()
        finds = deletes or looks or options.policy == "orphan"
        if finds and kind in self._controller.managed_kinds:
            indexes[_CHILDREN] = by_parent
        return indexes

    def namespaces_of(self, kind: Kind) -> tuple[str, ...]:
        """Return the namespaces in which a kind is watched; empty for all of them."""
        return self._controller.shapes[kind].namespaces or tuple(self._spaces)

    def selects(self, kind: Kind, obj: Json) -> bool:
        """Whether an object of a managed kind has the labels by which the kind is cached."""
        return self._selectors[kind].matches(labels_of(obj))

    def covers(self, ref: ObjectRef) -> bool:
        """Whether a cache would show the object: its kind is declared, its namespace is watched."""
        view = self._views.get(ref.kind)
        return view is not None and view.covers(ref.namespace)

    def may_lack(self, kind: Kind, namespace: str) -> bool:
        """Whether an object may exist although it is not cached: another replica keeps it."""
        return self._views[kind].may_lack(namespace)

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

    def size(self) -> int:
        """Return about how many outputs there can be: two states may write the same object."""
        return 2 * sum(len(self._views[kind]) for kind in self._managed)

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

        Empty for controllers that do not prune, have no finalizer graph and no state with a context,
        which could call ``ctx.children()``: only these need to find children that no status records,
        so only these have the index.
        """
        return [ref for view in self._by_parent for ref in view.refs(_CHILDREN, uid)]


def _named(controller: type[Controller[Any]], index: str) -> str:
    return f"{controller.name}/{index}"
