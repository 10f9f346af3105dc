"""E8: the volume is only deleted if the termination of the pod was seen."""

from myrmidon.api import Json
from myrmidon.apiserver.actors import cluster_actors
from myrmidon.apiserver.actors.actor import Actor
from myrmidon.apiserver.actors.pods import Kubelet
from tests.museum.kit import (
    POD,
    PVC,
    STATEFUL_SET,
    Exhibit,
    Reconciler,
    SlowKubelet,
    claim,
    editing,
    stateful_set,
    uid_of,
)  # fmt: skip


class MissedEdge(Reconciler):
    """Looks for pods that terminate, which lasts two seconds."""

    children = (STATEFUL_SET, POD, PVC)

    async def reconcile(self, obj: Json) -> None:
        """Keep a StatefulSet and volumes; delete those of pods that terminate."""
        replicas = obj["spec"]["replicas"]
        for ordinal in range(replicas):
            await self.ensure(PVC, self.child(obj, PVC, f"data-{ordinal}", **claim()))
        wanted = self.child(obj, STATEFUL_SET, "a", **stateful_set(replicas))
        there = await self.ensure(STATEFUL_SET, wanted)
        if there["spec"]["replicas"] != replicas:
            await self.client.update(
                STATEFUL_SET, {**there, "spec": {**there["spec"], "replicas": replicas}}
            )
        for volume in self.owned(PVC, obj):
            ordinal = int(volume["metadata"]["name"].rpartition("-")[2])
            if ordinal >= replicas and self.is_unused(ordinal):
                await self.require_current(obj)
                await self.delete(PVC, volume["metadata"]["name"], uid=uid_of(volume))

    def is_unused(self, ordinal: int) -> bool:
        """Whether the pod terminates."""
        pod = self.cached(POD, f"a-{ordinal}")
        return pod is not None and "deletionTimestamp" in pod["metadata"]

    def _keys(self, kind: object, obj: Json) -> list[str]:
        """Return the Thing for every object: the pods belong to the StatefulSet."""
        return [*self.caches["Thing"]] or ["a"]


class LevelTriggered(MissedEdge):
    """Looks for pods that are not there."""

    def is_unused(self, ordinal: int) -> bool:
        """Whether the pod is gone or terminates."""
        return self.cached(POD, f"a-{ordinal}") is None or super().is_unused(ordinal)


def _actors() -> list[Actor]:
    return [SlowKubelet() if type(one) is Kubelet else one for one in cluster_actors()]


EXHIBIT = Exhibit(
    "E8 missed edge",
    "instaclustr/cassandra-operator#398",
    MissedEdge,
    LevelTriggered,
    editing({"replicas": 2}, {"replicas": 1}),
    frozenset({"O1", "O3", "O5"}),
    actors=_actors,
)
