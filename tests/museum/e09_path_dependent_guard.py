"""E9: a guard against scaling down compares with what was applied last."""

from typing import Any

from myrmidon.api import Json
from tests.museum.kit import STATEFUL_SET, Exhibit, Reconciler, stateful_set, thing, without_pods


class Guarded(Reconciler):
    """Refuses fewer replicas: 1, 3, 2 ends with 3, and with 2 if the 3 was not seen."""

    children = (STATEFUL_SET,)

    async def reconcile(self, obj: Json) -> None:
        """Apply the replicas unless that scales down."""
        replicas = obj["spec"]["replicas"]
        wanted = self.child(obj, STATEFUL_SET, "a", **stateful_set(replicas))
        there = await self.ensure(STATEFUL_SET, wanted)
        if there["spec"]["replicas"] == replicas:
            return
        if self.refuses(replicas, there["spec"]["replicas"]):
            await self.set_status(obj, phase="Rejected")
            return
        await self.client.update(
            STATEFUL_SET, {**there, "spec": {**there["spec"], "replicas": replicas}}
        )

    def refuses(self, wanted: int, applied: int) -> bool:
        """Whether it would scale down."""
        return wanted < applied


class LastSpecWins(Guarded):
    """Applies what is asked for."""

    def refuses(self, wanted: int, applied: int) -> bool:
        """Return False."""
        return False


def at_once(make: Any) -> Any:
    """Return the scenario in which both edits are made without a rest between them."""

    async def edited(sim: Any) -> None:
        sim.controller(make)
        made = await sim.user.create(thing(replicas=1))
        await sim.settle()
        await sim.user.patch(made, replicas=3)
        await sim.user.patch(made, replicas=2)
        await sim.settle()

    return edited


EXHIBIT = Exhibit(
    "E9 path-dependent guard",
    "rabbitmq/cluster-operator#758",
    Guarded,
    LastSpecWins,
    at_once,
    frozenset({"O3"}),
    actors=without_pods,
)
