"""Controllers inside the server: what a cluster does by itself, in small.

Each is an ``Actor`` and can be left out.  ``GarbageCollector``, ``NamespaceController`` and
``ServiceAccounts`` do what their namesakes do; the others stand in for kubelets and built-in
controllers, so that a Deployment can become available where there is no machine to run it.
"""

from datetime import timedelta

from myrmidon.apiserver.actors.accounts import ServiceAccounts
from myrmidon.apiserver.actors.actor import Actor
from myrmidon.apiserver.actors.collector import GarbageCollector
from myrmidon.apiserver.actors.namespaces import NamespaceController
from myrmidon.apiserver.actors.pods import Jobs, Kubelet, Volumes
from myrmidon.apiserver.actors.workloads import Deployments, ReplicaSets, StatefulSets

__all__ = [
    "Deployments",
    "GarbageCollector",
    "Jobs",
    "Kubelet",
    "NamespaceController",
    "ReplicaSets",
    "ServiceAccounts",
    "StatefulSets",
    "Volumes",
    "cluster_actors",
    "housekeepers",
]


def housekeepers() -> list[Actor]:
    """What every cluster does with what is deleted, and with new namespaces."""
    return [GarbageCollector(), NamespaceController(), ServiceAccounts()]


def cluster_actors(delay: timedelta = timedelta(seconds=1)) -> list[Actor]:
    """A whole cluster in small; pods take ``delay`` for every step."""
    stand_ins: list[Actor] = [
        Deployments(),
        ReplicaSets(),
        StatefulSets(),
        Jobs(),
        Volumes(),
        Kubelet(delay),
    ]
    return housekeepers() + stand_ins
