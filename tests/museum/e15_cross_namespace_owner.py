"""E15: a child in another namespace has an ownerReference, and the garbage collector deletes it."""

from typing import Any

from myrmidon.api import Json
from myrmidon.apiserver.actors import cluster_actors
from myrmidon.apiserver.actors.actor import Actor
from myrmidon.apiserver.actors.collector import GarbageCollector
from myrmidon.testing.simulation.embedded import TrustingCollector
from tests.museum.kit import (
    CLEANUP,
    CONFIG_MAP,
    OWNER,
    Exhibit,
    Reconciler,
    has_finalizer,
    thing,
    uid_of,
)


class CrossNamespaceOwner(Reconciler):
    """Refers to an owner that the garbage collector cannot find."""

    children = (CONFIG_MAP,)

    async def reconcile(self, obj: Json) -> None:
        """Keep a child in the namespace topics."""
        if obj["metadata"].get("deletionTimestamp"):
            if has_finalizer(obj):
                await self.delete(CONFIG_MAP, "topic", namespace="topics")
                await self.set_finalizers(obj)
            return
        if not has_finalizer(obj):
            await self.set_finalizers(obj, CLEANUP)
            return
        topic = self.child(obj, CONFIG_MAP, "topic", data={"topic": "a"})
        topic["metadata"] |= {"namespace": "topics", "labels": {OWNER: uid_of(obj)}}
        await self.keep(self.owned_by(topic))

    async def keep(self, topic: Json) -> None:
        """Create the child, and repair it."""
        there = await self.ensure(CONFIG_MAP, topic)
        if there.get("data") != topic["data"]:
            await self.client.update(CONFIG_MAP, {**there, "data": topic["data"]})

    def owned_by(self, topic: Json) -> Json:
        """Return the child with its ownerReference."""
        return topic

    def _keys(self, kind: object, obj: Json) -> list[str]:
        """Return the Thing for every object."""
        return ["a"]


class LabelAndFinalizer(CrossNamespaceOwner):
    """Knows the child by its label, and deletes it by its finalizer."""

    def owned_by(self, topic: Json) -> Json:
        """Return the child without ownerReference."""
        return {**topic, "metadata": {**topic["metadata"], "ownerReferences": []}}


def topics(make: Any) -> Any:
    """Return the scenario with a second namespace."""

    async def created(sim: Any) -> None:
        sim.namespaces("topics")
        sim.controller(make)
        await sim.user.create(thing())
        await sim.settle()

    return created


def _actors() -> list[Actor]:
    """Return the actors of a cluster whose garbage collector deletes the child after a restart."""
    others = [one for one in cluster_actors() if not isinstance(one, GarbageCollector)]
    return [*others, TrustingCollector()]


EXHIBIT = Exhibit(
    "E15 cross-namespace owner",
    "banzaicloud/koperator#186, kubernetes/kubernetes#65200",
    CrossNamespaceOwner,
    LabelAndFinalizer,
    topics,
    frozenset({"O6"}),
    actors=_actors,
)
