"""Remotes: other clusters that controllers of this process watch.

``Watch(..., remote="east")`` names a cluster that was registered with ``Manager.add_remote``.  It
is only watched, and its watch events trigger passes here; controllers write to their own cluster
only.  All controllers of the process share the caches of a remote cluster, and each reads the
changes through a subscription of its own.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from myrmidon.api.clock import Clock
from myrmidon.errors import UsageError
from myrmidon.fsm.controller import Controller, kind_of
from myrmidon.io.client import Client
from myrmidon.io.watch.caches import Caches
from myrmidon.io.watch.subscriptions import Subscription
from myrmidon.io.watch.views import View


class Remote:
    """Another cluster: its client and its caches."""

    def __init__(self, name: str, client: Client, clock: Clock) -> None:
        self.name, self.client = name, client
        self.caches = Caches(client, clock=clock)

    def watches_of(self, controller: Controller[Any]) -> list[View]:
        """Return a view for each watch of the controller on this cluster."""
        views: list[View] = []
        for watch in controller.watches:
            kind = kind_of(watch.kind)
            if watch.remote == self.name and kind is not None:
                views.append(
                    self.caches.view(kind, namespaces=watch.namespaces, labels=watch.selector)
                )
        return views


class RemoteFeed:
    """The watch events of one remote cluster for one controller."""

    def __init__(self, remote: Remote, views: Iterable[View]) -> None:
        self.name = remote.name
        self.subscription = Subscription()
        self._views = list(views)
        for view in self._views:
            view.subscribe(self.subscription)

    def close(self) -> None:
        """Close the views; a cache without views is no longer watched."""
        for view in self._views:
            view.close()


def feeds_of(controller: Controller[Any], remotes: Mapping[str, Remote]) -> list[RemoteFeed]:
    """Return a feed for each remote cluster that the controller watches."""
    found: list[RemoteFeed] = []
    for remote in remotes.values():
        views = remote.watches_of(controller)
        if views:
            found.append(RemoteFeed(remote, views))
    return found


def check_remotes(controller: Controller[Any], known: Iterable[str]) -> None:
    """Raise UsageError if a watch names a cluster that was not registered."""
    for watch in controller.watches:
        if watch.remote is not None and watch.remote not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise UsageError(
                f"{type(controller).__name__} watches the cluster {watch.remote!r}, which "
                f"the manager does not know (it knows: {listed}).\n"
                f"  fix: manager.add_remote({watch.remote!r}, transport)"
            )
