"""View: the caches of one kind, in all namespaces or in some, read as if they were one."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.errors import UsageError
from myrmidon.io.watch.subscriptions import Shared, Subscription

Objects: TypeAlias = list[Json]
Refs: TypeAlias = list[ObjectRef]


class View:
    """Reads from the caches of one kind as if they were one.

    Close it when it is no longer needed: the watch of a cache ends with its last view.
    """

    def __init__(
        self,
        kind: Kind,
        parts: Mapping[str, Shared],
        release: Callable[[Shared], None],
    ) -> None:
        self.kind = kind
        self._parts = dict(parts)  # by namespace; "" for a cache of all namespaces
        self._release = release
        self._subscriptions: list[Subscription] = []

    def get(self, name: str, namespace: str = "") -> Json | None:
        """Return a copy of one object, None if it does not exist.  Raise if it is unreadable."""
        namespace = namespace if self.kind.namespaced else ""
        return self._part(namespace).cache.get(name, namespace)

    def stamp(self, name: str, namespace: str = "") -> int:
        """Return a hash of the cached bytes, 0 if the object is absent."""
        namespace = namespace if self.kind.namespaced else ""
        return self._part(namespace).cache.stamp(name, namespace)

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
        for part in self._parts.values():
            await part.reflector.wait_synced()

    def subscribe(self, subscription: Subscription) -> None:
        """Send the existing objects, and from now on every change, to a subscription."""
        for part in self._parts.values():
            part.subscribe(subscription)
        self._subscriptions.append(subscription)

    def close(self) -> None:
        """End the subscriptions and release the caches."""
        parts, self._parts = self._parts, {}
        for part in parts.values():
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
