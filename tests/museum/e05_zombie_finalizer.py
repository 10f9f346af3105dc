"""E5: a new process sees the deletion of an old object of the same name, and deletes the new data."""

from typing import Any

from myrmidon.api import Json
from tests.museum.kit import (
    CLEANUP,
    OWNER,
    PVC,
    Exhibit,
    Reconciler,
    claim,
    has_finalizer,
    thing,
    uid_of,
)


class ZombieFinalizer(Reconciler):
    """Deletes every volume with the label of the name."""

    first_list = "0"
    children = (PVC,)

    async def reconcile(self, obj: Json) -> None:
        """Keep a volume; delete it with the object."""
        if obj["metadata"].get("deletionTimestamp"):
            if has_finalizer(obj):
                await self.clean_up(obj)
                await self.set_finalizers(obj)
            return
        if not has_finalizer(obj):
            await self.set_finalizers(obj, CLEANUP)
            return
        volume = self.child(obj, PVC, "data", **claim())
        volume["metadata"] |= {"labels": {"app": "a", OWNER: uid_of(obj)}, "ownerReferences": []}
        if self.cached(PVC, "data") is None:
            await self.require_current(obj)
        await self.ensure(PVC, volume)

    async def clean_up(self, obj: Json) -> None:
        """Delete the volume that has the name of the object as label."""
        volume = await self.live(PVC, "data")
        if (
            volume is not None
            and volume["metadata"]["labels"].get("app") == obj["metadata"]["name"]
        ):
            await self.delete(PVC, "data")

    def _keys(self, kind: object, obj: Json) -> list[str]:
        """Return the Thing for every object: volumes have no ownerReference."""
        return ["a"]


class OwnVolumes(ZombieFinalizer):
    """Deletes the volumes with its own uid, and never begins with old data."""

    first_list = ""

    async def clean_up(self, obj: Json) -> None:
        """Delete the volume if it belongs to this very object."""
        volume = await self.live(PVC, "data")
        if volume is not None and volume["metadata"]["labels"].get(OWNER) == uid_of(obj):
            await self.delete(PVC, "data", uid=uid_of(volume))


def recreation(make: Any) -> Any:
    """Return the scenario that deletes a Thing and creates it again."""

    async def recreated(sim: Any) -> None:
        sim.controller(make)
        made = await sim.user.create(thing())
        await sim.settle()
        await sim.user.delete(made)
        await sim.settle()
        await sim.user.create(thing())
        await sim.settle()

    return recreated


EXHIBIT = Exhibit(
    "E5 zombie finalizer",
    "rabbitmq/cluster-operator#648, pravega/zookeeper-operator#312",
    ZombieFinalizer,
    OwnVolumes,
    recreation,
    frozenset({"O4", "O6"}),
)
