"""E3: the phase is written after the destructive step that it records."""

from myrmidon.api import Json
from tests.museum.kit import (
    POD,
    PVC,
    STATEFUL_SET,
    AgainError,
    Exhibit,
    Reconciler,
    claim,
    editing,
    stateful_set,
    uid_of,
)  # fmt: skip


class PhaseLag(Reconciler):
    """Scales down in phases; after a crash the phase Ongoing waits for a pod that is gone."""

    children = (STATEFUL_SET, POD, PVC)

    async def reconcile(self, obj: Json) -> None:
        """Do the step of the phase."""
        status = obj.get("status") or {}
        there, wanted = self.cached(STATEFUL_SET, "a"), obj["spec"]["replicas"]
        if there is None:
            await self.ensure(
                STATEFUL_SET, self.child(obj, STATEFUL_SET, "a", **stateful_set(wanted))
            )
            return
        match status.get("phase"):
            case "Ongoing":
                await self.decommission(obj, there, status["ordinal"])
            case "Finalizing":
                await self.finalize(obj, there, status["ordinal"])
            case _:
                await self.idle(obj, there, wanted)

    async def idle(self, obj: Json, there: Json, wanted: int) -> None:
        """Scale up at once; begin to scale down by one."""
        replicas = there["spec"]["replicas"]
        if wanted < replicas:
            await self.set_status(obj, phase="Ongoing", ordinal=replicas - 1)
            return
        for ordinal in range(wanted):
            await self.ensure(PVC, self.child(obj, PVC, f"data-{ordinal}", **claim()))
        await self.scale(there, wanted)
        await self.set_status(obj, phase="Idle", ordinal=None)

    async def scale(self, there: Json, wanted: int) -> None:
        """Set the replicas of the StatefulSet."""
        if there["spec"]["replicas"] != wanted:
            await self.client.update(
                STATEFUL_SET, {**there, "spec": {**there["spec"], "replicas": wanted}}
            )

    async def decommission(self, obj: Json, there: Json, ordinal: int) -> None:
        """Remove the pod, then note it."""
        if self.cached(POD, f"a-{ordinal}") is None:
            raise AgainError(f"pod a-{ordinal} not found")
        await self.scale(there, ordinal)
        await self.set_status(obj, phase="Finalizing")

    async def finalize(self, obj: Json, there: Json, ordinal: int) -> None:
        """Delete the volume of the pod that is gone."""
        if self.cached(POD, f"a-{ordinal}") is not None:
            raise AgainError(f"pod a-{ordinal} still runs")
        await self.require_current(obj)
        volume = self.cached(PVC, f"data-{ordinal}")
        if volume is not None:
            await self.delete(PVC, f"data-{ordinal}", uid=uid_of(volume))
        await self.set_status(obj, phase="Idle", ordinal=None)


class PhaseFirst(PhaseLag):
    """Notes the phase before the step, and repeats the step in the next phase."""

    async def decommission(self, obj: Json, there: Json, ordinal: int) -> None:
        """Note that the pod goes."""
        await self.set_status(obj, phase="Finalizing")

    async def finalize(self, obj: Json, there: Json, ordinal: int) -> None:
        """Remove the pod, then its volume."""
        await self.require_current(obj)
        await self.scale(there, ordinal)
        await super().finalize(obj, there, ordinal)


EXHIBIT = Exhibit(
    "E3 phase lag",
    "Orange-OpenSource/casskop#370",
    PhaseLag,
    PhaseFirst,
    editing({"replicas": 2}, {"replicas": 1}, {"replicas": 2}),
    frozenset({"O1", "O5"}),
)
