"""E16: the time of each pass is written to the status, and each write causes a pass."""

from myrmidon.api import Json
from myrmidon.api.values.timestamps import write_time
from tests.museum.kit import CONFIG_MAP, Exhibit, Reconciler, creation
from tests.testing.simulation.naive import ref


class Heartbeat(Reconciler):
    """Writes now() as lastTransitionTime; quick passes fall into one second and hide it."""

    async def reconcile(self, obj: Json) -> None:
        """Look at something, and report Ready."""
        await self.live(CONFIG_MAP, "settings")
        old = ((obj.get("status") or {}).get("conditions") or [{}])[0]
        condition = {
            "type": "Ready", "status": "True", "reason": "Done", "message": "",
            "observedGeneration": obj["metadata"]["generation"],
            "lastTransitionTime": self.since(old),
        }  # fmt: skip
        if old != condition:
            await self.client.patch(
                ref(self.resources[0].KIND, obj["metadata"]["name"]),
                {"status": {"conditions": [condition]}},
                subresource="status",
            )

    async def resync(self) -> None:
        """Do nothing: events of a resync, whose resourceVersion is known, are filtered out."""

    def since(self, old: Json) -> str:
        """Return the time of this pass."""
        return write_time(self.clock.now())


class SteadyTime(Heartbeat):
    """Keeps the time of a condition that did not change."""

    def since(self, old: Json) -> str:
        """Return the time of the condition."""
        return str(old.get("lastTransitionTime") or super().since(old))


EXHIBIT = Exhibit(
    "E16 heartbeat",
    "strimzi/strimzi-kafka-operator#13079, devfile/devworkspace-operator#1095",
    Heartbeat,
    SteadyTime,
    creation,
    frozenset({"O2", "O7"}),
)
