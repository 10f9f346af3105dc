"""The disruption controller: how many pods of a PodDisruptionBudget may be evicted now.

``status.disruptionsAllowed`` is the number of healthy pods beyond those that the budget demands.  A
budget that demands a number counts the pods that it selects; one with a percentage or with
``maxUnavailable`` counts what the controllers of these pods want, so that pods which are missing
already count as unavailable.  Evictions take from this number (``verbs.eviction``).
"""

from datetime import datetime
from math import ceil

from myrmidon.api.objects.accessors import (
    Json,
    controller_of,
    generation_of,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    owners_of,
)
from myrmidon.api.values.timestamps import write_time
from myrmidon.apiserver.actors.actor import ServerAccess
from myrmidon.apiserver.actors.followers import is_pod_ready
from myrmidon.apiserver.actors.objects import patch
from myrmidon.apiserver.builtin.validation.common import selects
from myrmidon.apiserver.resources.conditions import with_condition
from myrmidon.apiserver.store import StoredChange

_BUDGETS = "poddisruptionbudgets.policy"
_PODS = "pods"
_SCALED = {
    "Deployment": "deployments.apps",
    "ReplicaSet": "replicasets.apps",
    "StatefulSet": "statefulsets.apps",
    "ReplicationController": "replicationcontrollers",
}


class DisruptionBudgets:
    """Keeps the status of PodDisruptionBudgets up to date."""

    watched = (_BUDGETS, _PODS, *_SCALED.values())
    timed = False

    def __init__(self) -> None:
        self._namespaces: set[str] = set()  # those that have a budget
        self._dirty: set[str] = set()

    def observe(self, change: StoredChange) -> None:
        """Note the namespace of a budget, or of a pod or its controller where a budget is."""
        namespace = namespace_of(change.record.value)
        if change.resource == _BUDGETS:
            self._namespaces.add(namespace)
        if namespace in self._namespaces:
            self._dirty.add(namespace)

    def due(self) -> datetime | None:
        """Return None: this actor acts only on changes."""
        return None

    def act(self, server: ServerAccess) -> bool:
        """Write each status that has changed; return whether anything was written."""
        dirty, self._dirty = sorted(self._dirty), set()
        before = server.store.revision
        for namespace in dirty:
            for record in server.store.scan(_BUDGETS, f"{namespace}/"):
                _reconcile(server, record.value)
        return server.store.revision != before


def _reconcile(server: ServerAccess, budget: Json) -> None:
    if is_deleting(budget):
        return
    selector = budget["spec"].get("selector")
    found = server.store.scan(_PODS, f"{namespace_of(budget)}/")
    pods = [one.value for one in found if selects(selector, labels_of(one.value))]
    status = budget.get("status") or {}
    names = {name_of(pod) for pod in pods if not is_deleting(pod)}
    disrupted = {
        name: since for name, since in (status.get("disruptedPods") or {}).items() if name in names
    }
    healthy = sum(
        is_pod_ready(pod) and not is_deleting(pod) and name_of(pod) not in disrupted for pod in pods
    )
    expected, desired = _demand(server, budget["spec"], pods)
    allowed = max(healthy - desired, 0) if expected else 0
    enough = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    now = write_time(server.core.environment.now())
    wanted = with_condition(status, now, ("DisruptionAllowed", *enough, "")) | {
        "observedGeneration": generation_of(budget),
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
    }
    for condition in wanted["conditions"]:
        condition["observedGeneration"] = generation_of(budget)
    gone = dict.fromkeys((status.get("disruptedPods") or {}).keys() - disrupted.keys())
    wanted.pop("disruptedPods", None)
    if gone or any(status.get(field) != value for field, value in wanted.items()):
        path = f"/apis/policy/v1/namespaces/{namespace_of(budget)}/poddisruptionbudgets"
        removed = {"disruptedPods": gone} if gone else {}
        patch(server, f"{path}/{name_of(budget)}/status", {"status": {**wanted, **removed}})


def _demand(server: ServerAccess, spec: Json, pods: list[Json]) -> tuple[int, int]:
    """Return how many pods there should be, and how many of them must be healthy."""
    least = spec.get("minAvailable")
    if isinstance(least, int):
        return len(pods), least
    scales = dict(filter(None, (_scale(server, pod) for pod in pods)))
    expected = sum(scales.values())
    if least is not None:
        return expected, _share(least, expected)
    most = spec.get("maxUnavailable", 0)
    missing = most if isinstance(most, int) else _share(most, expected)
    return expected, max(expected - missing, 0)


def _share(percentage: str, of: int) -> int:
    return ceil(int(percentage.rstrip("%")) * of / 100)


def _scale(server: ServerAccess, obj: Json) -> tuple[str, int] | None:
    """Return the uid of the topmost controller of a pod and the replicas that it wants, or None."""
    owner = controller_of(obj)
    if owner is None or owner.get("kind") not in _SCALED:
        return None
    record = server.store.get(_SCALED[owner["kind"]], f"{namespace_of(obj)}/{owner['name']}")
    if record is None:
        return None
    if owners_of(record.value) and (above := _scale(server, record.value)) is not None:
        return above
    return str(owner.get("uid")), int(record.value["spec"].get("replicas", 1))
