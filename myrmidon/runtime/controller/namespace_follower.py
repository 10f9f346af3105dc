"""NamespaceFollower: lets a controller handle the namespaces whose labels match a selector.

The server evaluates the selector: a watch with a label selector reports a namespace that begins to
match as new, and one that no longer matches as deleted.  Only the metadata of namespaces is cached,
and controllers with the same selector share the cache.

- A namespace that appears is listed first, every declared kind.  Only when all its caches are in
  sync do its objects get passes.  A namespace that cannot be listed holds up no other.
- A namespace that leaves gets no new passes at once.  Passes under way finish, then its caches are
  freed.  Its objects stay as they are, with their finalizers: an object that is deleted there waits
  until its namespace matches again, or for ``myrmidon release``.
- A namespace that is being deleted still matches, so the finalizers of its objects run.

Each namespace has its own list and watch for each kind, so that the memory of one that leaves can be
freed; with hundreds of namespaces, a controller for all of them needs fewer connections.
"""

import asyncio

from myrmidon.api.objects import kinds
from myrmidon.io.watch.caches import Caches
from myrmidon.io.watch.subscriptions import Subscription
from myrmidon.runtime.controller.loop import ControllerLoop
from myrmidon.runtime.logs import Logger


class NamespaceFollower:
    """Adds namespaces to the loop of a controller, and removes them, as their labels change."""

    def __init__(self, loop: ControllerLoop, caches: Caches, selector: str, log: Logger) -> None:
        self._loop, self._log = loop, log
        self.names = caches.view(kinds.NAMESPACE, labels=selector, metadata_only=True)
        self._changes = Subscription()
        self._entering: dict[str, asyncio.Task[None]] = {}
        self._inside: set[str] = set()

    @property
    def is_idle(self) -> bool:
        """Whether no change of a namespace waits to be taken and no namespace is being listed."""
        return not self._entering and not len(self._changes)

    async def run(self) -> None:
        """Follow the namespaces until cancelled."""
        self.names.subscribe(self._changes)
        async with asyncio.TaskGroup() as group:
            async for change in self._changes:
                name = change.ref.name
                if change.new is None:
                    self._leave(name)
                elif name not in self._inside:
                    self._inside.add(name)
                    self._entering[name] = group.create_task(self._enter(name))

    async def _enter(self, name: str) -> None:
        await self._loop.enter(name)
        del self._entering[name]
        self._log.info("namespace entered", namespace=name)

    def _leave(self, name: str) -> None:
        entering = self._entering.pop(name, None)
        if entering is not None:
            entering.cancel()
        self._inside.discard(name)
        self._loop.leave(name)
        self._log.info("namespace left", namespace=name)
