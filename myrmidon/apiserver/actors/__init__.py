"""Built-in controllers of the embedded server.

Each controller is an ``Actor``, and each is optional.  ``GarbageCollector``,
``NamespaceController``, ``ServiceAccounts``, ``AggregatedRoles``, ``ResourceQuotas``,
``StorageProtection`` and ``DisruptionBudgets`` behave like the Kubernetes controllers for these.  The
others are simplified versions of the workload controllers and the kubelet: they run no containers, but
write the status that the real ones would, so that for example a Deployment becomes available.
"""

from datetime import timedelta

from myrmidon.apiserver.actors.accounts import ServiceAccounts
from myrmidon.apiserver.actors.actor import Actor
from myrmidon.apiserver.actors.aggregated_roles import AggregatedRoles
from myrmidon.apiserver.actors.collector import GarbageCollector
from myrmidon.apiserver.actors.disruptions import DisruptionBudgets
from myrmidon.apiserver.actors.namespaces import NamespaceController
from myrmidon.apiserver.actors.pods import Jobs, Kubelet, Volumes
from myrmidon.apiserver.actors.quotas import ResourceQuotas
from myrmidon.apiserver.actors.storage_protection import StorageProtection
from myrmidon.apiserver.actors.workloads import Deployments, ReplicaSets, StatefulSets

__all__ = [
    "AggregatedRoles",
    "Deployments",
    "DisruptionBudgets",
    "GarbageCollector",
    "Jobs",
    "Kubelet",
    "NamespaceController",
    "ReplicaSets",
    "ResourceQuotas",
    "ServiceAccounts",
    "StatefulSets",
    "StorageProtection",
    "Volumes",
    "cluster_actors",
    "housekeepers",
]


def housekeepers() -> list[Actor]:
    """Return the controllers that any cluster needs: deletion, namespaces, accounts, roles, quotas, storage."""
    return [
        GarbageCollector(),
        NamespaceController(),
        ServiceAccounts(),
        AggregatedRoles(),
        ResourceQuotas(),
        StorageProtection(),
    ]


def cluster_actors(delay: timedelta = timedelta(seconds=1)) -> list[Actor]:
    """Return all controllers of a small cluster; each phase of a pod takes ``delay``."""
    stand_ins: list[Actor] = [
        Deployments(),
        ReplicaSets(),
        StatefulSets(),
        Jobs(),
        Volumes(),
        Kubelet(delay),
        DisruptionBudgets(),
    ]
    return housekeepers() + stand_ins
