"""E12: the finalizer is set after the external resource was created."""

from typing import Any, ClassVar

from myrmidon.api import Json
from tests.museum.kit import CLEANUP, Exhibit, Reconciler, has_finalizer, thing, uid_of


class LateFinalizer(Reconciler):
    """A deletion between both is final, and the resource leaks."""

    cloud: ClassVar[Any] = None

    async def reconcile(self, obj: Json) -> None:
        """Keep an external resource; delete it with the object."""
        if obj["metadata"].get("deletionTimestamp"):
            if has_finalizer(obj):
                known = await self.cloud.find(uid_of(obj))
                if known:
                    await self.cloud.delete(known)
                await self.set_finalizers(obj)
            return
        await self.provision(obj)

    async def provision(self, obj: Json) -> None:
        """Create the resource, then set the finalizer."""
        if not await self.cloud.find(uid_of(obj)):
            await self.cloud.create({"size": 1}, uid_of(obj))
        if not has_finalizer(obj):
            await self.set_finalizers(obj, CLEANUP)


class FinalizerFirst(LateFinalizer):
    """Sets the finalizer in a pass before."""

    async def provision(self, obj: Json) -> None:
        """Set the finalizer, or create the resource."""
        if not has_finalizer(obj):
            await self.set_finalizers(obj, CLEANUP)
            return
        await super().provision(obj)


def provisioning(make: Any) -> Any:
    """Return the scenario of an external resource."""

    async def provisioned(sim: Any) -> None:
        cloud = sim.external("cloud")

        def made() -> Any:
            program = make()
            program.cloud = cloud
            return program

        sim.controller(made)
        await sim.user.create(thing())
        await sim.settle()

    return provisioned


EXHIBIT = Exhibit(
    "E12 late finalizer",
    "outscale/cluster-api-provider-outscale#917",
    LateFinalizer,
    FinalizerFirst,
    provisioning,
    frozenset({"O5"}),
)
