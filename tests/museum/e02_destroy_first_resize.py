"""E2: the StatefulSet is deleted before the volume is resized, and says whether a resize is due."""

from myrmidon.api import Json
from tests.museum.kit import (
    PVC,
    STATEFUL_SET,
    Exhibit,
    Reconciler,
    claim,
    editing,
    size_of,
    stateful_set,
    without_pods,
)


class DestroyFirst(Reconciler):
    """Compares the size with the StatefulSet; after a crash that is new, and the volume stays old."""

    children = (STATEFUL_SET, PVC)

    async def reconcile(self, obj: Json) -> None:
        """Give the volume and the StatefulSet their size."""
        size = obj["spec"]["size"]
        volume = await self.ensure(PVC, self.child(obj, PVC, "data", **claim(size)))
        there = self.cached(STATEFUL_SET, "a")
        if there is not None and there["spec"]["template"]["metadata"]["annotations"][
            "size"
        ] != str(size):
            await self.resize(there, volume, size)
            there = None
        if there is None:
            await self.create(
                STATEFUL_SET, self.child(obj, STATEFUL_SET, "a", **stateful_set(1, size=str(size)))
            )
        elif there["spec"]["replicas"] != 1:
            await self.client.update(
                STATEFUL_SET, {**there, "spec": {**there["spec"], "replicas": 1}}
            )

    async def resize(self, there: Json, volume: Json | None, size: int) -> None:
        """Delete the StatefulSet, then resize the volume."""
        await self.delete(STATEFUL_SET, "a", uid=there["metadata"]["uid"])
        await self.grow(volume, size)

    async def grow(self, volume: Json | None, size: int) -> None:
        """Resize the volume."""
        if volume is not None and size_of(volume) != size:
            await self.client.update(
                PVC, {**volume, "spec": {**volume["spec"], **claim(size)["spec"]}}
            )


class VolumeFirst(DestroyFirst):
    """Compares the volume itself, before it touches the StatefulSet."""

    async def reconcile(self, obj: Json) -> None:
        """Resize the volume, then do the rest."""
        await self.grow(self.cached(PVC, "data"), obj["spec"]["size"])
        await super().reconcile(obj)

    async def resize(self, there: Json, volume: Json | None, size: int) -> None:
        """Delete the StatefulSet."""
        await self.delete(STATEFUL_SET, "a", uid=there["metadata"]["uid"])


EXHIBIT = Exhibit(
    "E2 destroy-first resize",
    "rabbitmq/cluster-operator#782",
    DestroyFirst,
    VolumeFirst,
    editing({"size": 10}, {"size": 15}),
    frozenset({"O1"}),
    actors=without_pods,
)
