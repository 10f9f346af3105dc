"""What one reader sees: a kind, in all namespaces or in some of them."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from myrmidon.api.objects import Json
from myrmidon.api.refs import Kind, ObjectRef
from myrmidon.errors import UsageError
from myrmidon.io.watch.subscriptions import Shared, Subscription

Objects: TypeAlias = list[Json]
Refs: TypeAlias = list[ObjectRef]


class View:
    """Reads from the caches of one kind as if they were one.  Close it when it is needed no more."""

    def __init__(
        self,
        kind: Kind,
        parts: Mapping[str, Shared],
        release: Callable[[Shared], None],
    ) -> None:
        self.kind = kind
        self._parts = dict(parts)  # by namespace; "" is all
        self._release = release
        self._subscriptions: list[Subscription] = []

    def get(self, name: str, namespace: str = "") -> Json | None:
        """One object, as a copy of the caller's own; None where there is none."""
        namespace = namespace if self.kind.namespaced else ""
        return self._part(namespace).cache.get(name, namespace)

    def stamp(self, name: str, namespace: str = "") -> int:
        """A number for what is held, another for other content; 0 for nothing."""
        namespace = namespace if self.kind.namespaced else ""
        return self._part(namespace).cache.stamp(name, namespace)

    def list(
        self,
        namespace: str = "",
        *,
        labels: Mapping[str, str] | str | None = None,
        index: tuple[str, str] | None = None,
    ) -> Objects:
        """The objects that match, sorted by namespace and name; ``""`` is every namespace seen."""
        parts = [self._part(namespace)] if namespace else list(self._parts.values())
        return [
            obj for part in parts for obj in part.cache.list(namespace, labels=labels, index=index)
        ]

    def refs(self, index: str, word: str) -> Refs:
        """References of what an index finds, without decoding anything."""
        return [ref for part in self._parts.values() for ref in part.cache.refs(index, word)]

    def covers(self, namespace: str) -> bool:
        """Whether objects of that namespace are seen at all."""
        return not self.kind.namespaced or "" in self._parts or namespace in self._parts

    def __len__(self) -> int:
        return sum(len(part.cache) for part in self._parts.values())

    @property
    def is_synced(self) -> bool:
        """Whether every first list is complete; before that, absence means nothing."""
        return all(part.reflector.is_synced for part in self._parts.values())

    async def wait_synced(self) -> None:
        """Wait until every first list is complete."""
        for part in self._parts.values():
            await part.reflector.wait_synced()

    def subscribe(self, subscription: Subscription) -> None:
        """Send what is there, and from now on every change, to a subscription."""
        for part in self._parts.values():
            part.subscribe(subscription)
        self._subscriptions.append(subscription)

    def close(self) -> None:
        """Need it no more; the last to go ends the watch."""
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
