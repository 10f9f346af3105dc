"""E13: the finalizer is removed because the cache does not know the child yet."""

from typing import Any

from myrmidon.api import Json
from tests.museum.kit import (
    CLEANUP,
    CONFIG_MAP,
    OWNER,
    AgainError,
    Exhibit,
    Reconciler,
    has_finalizer,
    thing,
    uid_of,
)  # fmt: skip


class EarlyRemoval(Reconciler):
    """Takes a child that is not in the cache for one that is gone."""

    children = (CONFIG_MAP,)

    async def reconcile(self, obj: Json) -> None:
        """Keep a child without ownerReference; delete it with the object."""
        if obj["metadata"].get("deletionTimestamp"):
            if has_finalizer(obj):
                await self.release(obj)
            return
        if not has_finalizer(obj):
            await self.set_finalizers(obj, CLEANUP)
            return
        made = self.child(obj, CONFIG_MAP, "claimed", data={"claimed": "true"})
        made["metadata"] |= {"ownerReferences": [], "labels": {OWNER: uid_of(obj)}}
        there = await self.ensure(CONFIG_MAP, made)
        if there.get("data") != made["data"]:
            await self.client.update(CONFIG_MAP, {**there, "data": made["data"]})

    async def release(self, obj: Json) -> None:
        """Delete the child, then remove the finalizer."""
        child = await self.find()
        if child is not None and child["metadata"]["labels"].get(OWNER) == uid_of(obj):
            await self.delete(CONFIG_MAP, "claimed", uid=uid_of(child))
            raise AgainError("the child is being deleted")
        await self.set_finalizers(obj)

    async def find(self) -> Json | None:
        """Return the child as it is in the cache."""
        return self.cached(CONFIG_MAP, "claimed")

    def _keys(self, kind: object, obj: Json) -> list[str]:
        """Return the Thing for every object: the child has no ownerReference."""
        return ["a"]


class LiveRemoval(EarlyRemoval):
    """Asks the server."""

    async def find(self) -> Json | None:
        """Return the child as it is on the server."""
        return await self.live(CONFIG_MAP, "claimed")


def short_life(make: Any) -> Any:
    """Return the scenario that deletes a Thing soon after its creation."""

    async def lived(sim: Any) -> None:
        sim.controller(make)
        made = await sim.user.create(thing())
        await sim.advance(3)
        await sim.user.delete(made)
        await sim.settle()

    return lived


EXHIBIT = Exhibit(
    "E13 early finalizer removal",
    "reddit/achilles-sdk: pkg/fsm/internal/reconciler_claim.go",
    EarlyRemoval,
    LiveRemoval,
    short_life,
    frozenset({"O5"}),
)
