"""Remotes: other clusters that controllers of this process watch, read and write.

A remote cluster is registered with ``Manager.add_remote`` (``myrmidon run --remote edge=CONTEXT``).
Controllers use it in two ways:

- ``Watch(..., remote="edge")``: its watch events trigger passes.
- ``manages`` and ``reads`` list kinds of it, ``kinds.CONFIG_MAP.at("edge")``.  A kind on another
  cluster is another kind (``Kind.cluster``), so caches, own writes, recorded children, pruning and
  deletion tell the clusters apart by themselves; ``Client.remotes`` and ``Caches.remotes`` find the
  right connection.

Children on a remote cluster have no owner reference, because the garbage collector there does not
know the parent.  They are tracked: recorded in ``status.resourceRefs`` before they are created, with
the name of the cluster, and deleted by the finalizer.  The uid of the parent in their tracking label
is unique among all clusters.

Leader election is that of the home cluster, and its fence applies to writes to remote clusters, too.
All controllers of the process share the caches of a remote cluster.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from myrmidon.api.typed.object_types import kind_of
from myrmidon.errors import UsageError
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.remote_clusters import clusters_of
from myrmidon.io.client import Client
from myrmidon.io.watch.caches import Caches
from myrmidon.io.watch.subscriptions import Subscription
from myrmidon.io.watch.views import View


class RemoteCluster:
    """A remote cluster: its client and its caches."""

    def __init__(self, name: str, client: Client, caches: Caches) -> None:
        self.name, self.client, self.caches = name, client, caches

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

    def __init__(self, remote: RemoteCluster, views: Iterable[View]) -> None:
        self.name = remote.name
        self.subscription = Subscription()
        self._views = list(views)
        for view in self._views:
            view.subscribe(self.subscription)

    def close(self) -> None:
        """Close the views; a cache without views is no longer watched."""
        for view in self._views:
            view.close()


def feeds_of(controller: Controller[Any], remotes: Mapping[str, RemoteCluster]) -> list[RemoteFeed]:
    """Return a feed for each remote cluster that the controller watches."""
    found: list[RemoteFeed] = []
    for remote in remotes.values():
        views = remote.watches_of(controller)
        if views:
            found.append(RemoteFeed(remote, views))
    return found


def check_remotes(controller: Controller[Any], known: Iterable[str]) -> None:
    """Raise UsageError if the controller needs a cluster that was not registered."""
    for name in clusters_of(type(controller)):
        if name not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise UsageError(
                f"{type(controller).__name__} needs the cluster {name!r}, which the manager does not "
                f"know (it knows: {listed}).\n"
                f"  fix: manager.add_remote({name!r}, transport), or "
                f"`myrmidon run --remote {name}=CONTEXT`"
            )
