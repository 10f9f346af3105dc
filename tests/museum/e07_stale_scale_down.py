"""E7: stale replicas delete the volume of a pod that is wanted."""

from myrmidon.api import Json
from tests.museum.kit import (
    PVC,
    STATEFUL_SET,
    Exhibit,
    Reconciler,
    claim,
    editing,
    stateful_set,
    uid_of,
    without_pods,
)


class StaleScaleDown(Reconciler):
    """Believes its cache of Things when it scales down."""

    first_list = "0"
    children = (STATEFUL_SET, PVC)

    async def reconcile(self, obj: Json) -> None:
        """Keep a StatefulSet and a volume for each replica; delete other volumes."""
        replicas = obj["spec"]["replicas"]
        for ordinal in range(replicas):
            await self.ensure(PVC, self.child(obj, PVC, f"data-{ordinal}", **claim()))
        wanted = self.child(obj, STATEFUL_SET, "a", **stateful_set(replicas))
        there = await self.ensure(STATEFUL_SET, wanted)
        surplus = [pvc for pvc in self.owned(PVC, obj) if _ordinal(pvc) >= replicas]
        if there["spec"]["replicas"] != replicas:
            await self.may_destroy(obj)
            await self.client.update(
                STATEFUL_SET, {**there, "spec": {**there["spec"], "replicas": replicas}}
            )
        for volume in surplus:
            await self.may_destroy(obj)
            await self.delete(PVC, volume["metadata"]["name"], uid=uid_of(volume))

    async def may_destroy(self, obj: Json) -> None:
        """Do nothing."""


class LiveScaleDown(StaleScaleDown):
    """Reads the Thing again before each destructive step, and never begins with old data."""

    first_list = ""

    async def may_destroy(self, obj: Json) -> None:
        """Raise if the Thing has changed."""
        await self.require_current(obj)


def _ordinal(volume: Json) -> int:
    return int(volume["metadata"]["name"].rpartition("-")[2])


EXHIBIT = Exhibit(
    "E7 stale scale-down",
    "pravega/zookeeper-operator#314, elastic/cloud-on-k8s#5274",
    StaleScaleDown,
    LiveScaleDown,
    editing({"replicas": 2}, {"replicas": 1}, {"replicas": 2}),
    frozenset({"O4"}),
    actors=without_pods,
)
