"""View: the caches of one kind, in all namespaces or in some, read as if they were one."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.errors import RemoteUnavailableError, UsageError
from myrmidon.io.watch.changes import uid_in
from myrmidon.io.watch.subscriptions import Shared, Subscription

Objects: TypeAlias = list[Json]
Refs: TypeAlias = list[ObjectRef]
Names: TypeAlias = list[str]


class View:
    """Reads from the caches of one kind as if they were one.

    Close it when it is no longer needed: the watch of a cache ends with its last view.
    """

    def __init__(
        self,
        kind: Kind,
        namespaces: Iterable[str],
        share: Callable[[str], Shared],
        release: Callable[[Shared], None],
    ) -> None:
        self.kind = kind
        self._share, self._release = share, release
        # By namespace; "" for a cache of all namespaces.
        self._parts = {namespace: share(namespace) for namespace in namespaces}
        self._prepared: dict[str, Shared] = {}  # namespaces whose first list is under way
        self._subscriptions: list[Subscription] = []

    def get(self, name: str, namespace: str = "") -> Json | None:
        """Return a copy of one object, None if it does not exist.  Raise if it is unreadable."""
        namespace = namespace if self.kind.namespaced else ""
        return self._part(namespace).cache.get(name, namespace)

    def stamp(self, name: str, namespace: str = "") -> int:
        """Return a hash of the cached bytes, 0 if the object is absent."""
        namespace = namespace if self.kind.namespaced else ""
        return self._part(namespace).cache.stamp(name, namespace)

    def uid(self, name: str, namespace: str = "") -> str:
        """Return the uid of an object, "" if it is absent, without decoding it."""
        namespace = namespace if self.kind.namespaced else ""
        entry = self._part(namespace).cache.entry((namespace, name))
        return "" if entry is None else uid_in(entry)

    def list(
        self,
        namespace: str = "",
        *,
        labels: Mapping[str, str] | str | None = None,
        index: tuple[str, str] | None = None,
    ) -> Objects:
        """Return copies of the objects that match, sorted by namespace and name.

        With namespace ``""``, those of all namespaces of this view.
        """
        parts = [self._part(namespace)] if namespace else list(self._parts.values())
        return [
            obj for part in parts for obj in part.cache.list(namespace, labels=labels, index=index)
        ]

    def refs(self, index: str, word: str) -> Refs:
        """Return references of the objects that an index finds, without decoding them."""
        return [ref for part in self._parts.values() for ref in part.cache.refs(index, word)]

    def covers(self, namespace: str) -> bool:
        """Whether this view includes the objects of a namespace."""
        return not self.kind.namespaced or "" in self._parts or namespace in self._parts

    def may_lack(self, namespace: str) -> bool:
        """Whether an object in this namespace may exist although it is not cached.

        That is so if this process keeps only some slices of the kind (``lists.slices``); with
        namespace ``""``, if any namespace is concerned.
        """
        kept = (self._part(namespace),) if namespace else self._parts.values()
        return any(
            each.cache.part is not None and each.cache.part.may_lack(namespace) for each in kept
        )

    def __len__(self) -> int:
        return sum(len(part.cache) for part in self._parts.values())

    @property
    def is_synced(self) -> bool:
        """Whether the first list of every cache is complete.

        Before that, an object that is not in the cache may nevertheless exist.
        """
        return all(part.reflector.is_synced for part in self._parts.values())

    async def wait_synced(self) -> None:
        """Wait until the first list of every cache is complete."""
        for part in list(self._parts.values()):
            await part.reflector.wait_synced()

    def subscribe(self, subscription: Subscription) -> None:
        """Send the existing objects, and from now on every change, to a subscription."""
        for part in self._parts.values():
            part.subscribe(subscription)
        self._subscriptions.append(subscription)

    async def prepare(self, namespace: str) -> None:
        """Fill the cache of another namespace; its objects cannot be read before ``enter``."""
        if namespace not in self._parts and namespace not in self._prepared:
            self._prepared[namespace] = self._share(namespace)
        part = self._prepared.get(namespace)
        if part is not None:
            await part.reflector.wait_synced()

    def enter(self, namespace: str) -> None:
        """Include the objects of a namespace that was prepared; the subscribers get them.

        If the namespace is included already, they get its objects again.
        """
        part = self._prepared.pop(namespace, None)
        for subscription in self._subscriptions:
            if part is not None:
                part.subscribe(subscription)
            elif namespace in self._parts:
                subscription.put_existing(self._parts[namespace].cache)
        if part is not None:
            self._parts[namespace] = part

    def leave(self, namespace: str) -> None:
        """Exclude the objects of a namespace; its cache ends unless another view needs it."""
        prepared, part = self._prepared.pop(namespace, None), self._parts.pop(namespace, None)
        if prepared is not None:
            self._release(prepared)
        if part is not None:
            self._let_go(part)

    def names(self, namespace: str) -> Names:
        """Return the names of the objects in a namespace, without decoding them."""
        part = self._parts.get(namespace) or self._parts.get("")
        return [] if part is None else [name for _, name in part.cache.keys(namespace)]

    def all_refs(self) -> Refs:
        """Return references of all objects of this view, without decoding them."""
        caches = [part.cache for part in self._parts.values()]
        return [
            ObjectRef(self.kind, name, space) for cache in caches for space, name in cache.keys("")
        ]

    def close(self) -> None:
        """End the subscriptions and release the caches."""
        for namespace in list(self._prepared):
            self.leave(namespace)
        parts, self._parts = self._parts, {}
        for part in parts.values():
            self._let_go(part)

    def _let_go(self, part: Shared) -> None:
        for subscription in self._subscriptions:
            part.subscriptions.remove(subscription)
        self._release(part)

    def _part(self, namespace: str) -> Shared:
        part = self._parts.get(namespace) or self._parts.get("")
        if part is None:
            raise UsageError(
                f"{self.kind} is not watched in the namespace {namespace!r}, "
                f"only in: {', '.join(self._parts) or 'none, the view is closed'}.\n"
                "  fix: add the namespace to those that the controller watches"
            )
        return part


class RemoteView(View):
    """A view of a kind on a remote cluster, which may not be reachable when the process starts.

    Passes do not wait for remote clusters, so reads are refused until the first list is complete: an
    object that is not cached before that may nevertheless exist.
    """

    def get(self, name: str, namespace: str = "") -> Json | None:
        """Return a copy of one object, None if it does not exist."""
        self._check()
        return super().get(name, namespace)

    def stamp(self, name: str, namespace: str = "") -> int:
        """Return a hash of the cached bytes, 0 if the object is absent."""
        self._check()
        return super().stamp(name, namespace)

    def list(
        self,
        namespace: str = "",
        *,
        labels: Mapping[str, str] | str | None = None,
        index: tuple[str, str] | None = None,
    ) -> Objects:
        """Return copies of the objects that match."""
        self._check()
        return super().list(namespace, labels=labels, index=index)

    def refs(self, index: str, word: str) -> Refs:
        """Return references of the objects that an index finds."""
        self._check()
        return super().refs(index, word)

    def _check(self) -> None:
        for part in self._parts.values():
            if not part.reflector.is_synced:
                raise RemoteUnavailableError(
                    self.kind.cluster, self.kind.kind, part.reflector.fault
                )
