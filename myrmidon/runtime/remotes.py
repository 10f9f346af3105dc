"""Remotes: watches of other clusters.

``Watch(..., remote="east")`` names a cluster that was registered with ``Manager.add_remote``.  It
is only watched, and its watch events trigger passes here; controllers write to their own cluster
only.
"""

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial

from myrmidon.api.clock import Clock
from myrmidon.api.requests.transport import Transport
from myrmidon.api.typed.object_types import kind_of
from myrmidon.errors import UsageError
from myrmidon.io.client import Client
from myrmidon.io.tasks import lasting
from myrmidon.io.watch.caches import Caches
from myrmidon.io.watch.subscriptions import Subscription
from myrmidon.runtime.loop import ControllerLoop


def check_remotes(loops: Iterable[ControllerLoop], known: Mapping[str, Transport]) -> None:
    """Raise UsageError if a watch names a cluster that was not registered."""
    for loop in loops:
        for watch in loop.controller.watches:
            if watch.remote is not None and watch.remote not in known:
                listed = ", ".join(sorted(known)) or "none"
                raise UsageError(
                    f"{type(loop.controller).__name__} watches the cluster {watch.remote!r}, which "
                    f"the manager does not know (it knows: {listed}).\n"
                    f"  fix: manager.add_remote({watch.remote!r}, transport)"
                )


async def watch_remote(
    name: str, transport: Transport, loops: Iterable[ControllerLoop], clock: Clock
) -> None:
    """Feed the watch events of another cluster to its watching controllers, until cancelled."""
    caches = Caches(Client(transport, clock=clock), clock=clock)
    async with asyncio.TaskGroup() as group:
        for loop in loops:
            subscription = Subscription()
            for watch in loop.controller.watches:
                kind = kind_of(watch.kind)
                if watch.remote == name and kind is not None:
                    view = caches.view(kind, namespaces=watch.namespaces, labels=watch.selector)
                    view.subscribe(subscription)
            feed = partial(loop.take_all, subscription, remote=name)
            group.create_task(lasting(f"feed from {name}", feed))
        group.create_task(lasting(f"caches of {name}", caches.run))
