"""E14: a merge patch replaces the whole list of finalizers from an old read."""

from typing import Any

from myrmidon.api import Json
from tests.museum.kit import CLEANUP, Exhibit, Reconciler, Thing, has_finalizer, thing
from tests.testing.simulation.naive import ref

OTHER = "other.example.com/cleanup"


class Clobber(Reconciler):
    """Patches the list without the version that it was read at."""

    async def reconcile(self, obj: Json) -> None:
        """Keep the finalizer; remove it when the object is deleted."""
        there = obj["metadata"].get("finalizers", [])
        if obj["metadata"].get("deletionTimestamp"):
            if has_finalizer(obj):
                await self.write_finalizers(obj, [one for one in there if one != CLEANUP])
        elif not has_finalizer(obj):
            await self.write_finalizers(obj, [*there, CLEANUP])

    async def write_finalizers(self, obj: Json, wanted: list[str]) -> None:
        """Send a merge patch of the list."""
        body = {"metadata": {"finalizers": wanted}}
        await self.client.patch(ref(Thing.KIND, obj["metadata"]["name"]), body)


class LockedPatch(Clobber):
    """Patches the version that it has read."""

    async def write_finalizers(self, obj: Json, wanted: list[str]) -> None:
        """Replace the object, with its version."""
        await self.set_finalizers(obj, *wanted)


def two_owners(make: Any) -> Any:
    """Return the scenario in which another program adds its finalizer, and removes it at the end."""

    async def shared(sim: Any) -> None:
        sim.controller(make)
        made = await sim.user.create(thing())
        await sim.settle()
        await sim.user.patch(made, {"metadata": {"finalizers": [CLEANUP, OTHER]}})
        await sim.settle()

    return shared


EXHIBIT = Exhibit(
    "E14 finalizer clobber",
    "kubermatic/kubermatic#6759",
    Clobber,
    LockedPatch,
    two_owners,
    frozenset({"O6"}),
)
