"""E10: pods with generated names, counted in a cache that lags."""

from typing import Any

from myrmidon.api import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Request, Verb
from tests.museum.kit import POD, POD_SPEC, Exhibit, Reconciler, thing, uid_of


class RandomNames(Reconciler):
    """Creates as many pods as are missing in the cache, and deletes those that are too many."""

    first_list = "0"
    children = (POD,)

    async def reconcile(self, obj: Json) -> None:
        """Create or delete pods until there are as many as wanted."""
        pods, wanted = self.owned(POD, obj), obj["spec"]["replicas"]
        for _ in range(wanted - len(pods)):
            made = self.child(obj, POD, "", spec=POD_SPEC)
            made["metadata"]["generateName"] = f"{made['metadata'].pop('name')}a-"
            await self.client.send(Request(Verb.CREATE, ObjectRef(POD, "", "default"), made))
        for pod in pods[wanted:]:
            await self.delete(POD, pod["metadata"]["name"], uid=uid_of(pod))


class NumberedNames(RandomNames):
    """Creates pods with names that it can predict."""

    async def reconcile(self, obj: Json) -> None:
        """Create each pod that is missing, delete those with higher numbers."""
        wanted = [f"a-{number}" for number in range(obj["spec"]["replicas"])]
        for name in wanted:
            await self.ensure(POD, self.child(obj, POD, name, spec=POD_SPEC))
        for pod in self.owned(POD, obj):
            if pod["metadata"]["name"] not in wanted:
                await self.require_current(obj)
                await self.delete(POD, pod["metadata"]["name"], uid=uid_of(pod))


def scaling(make: Any) -> Any:
    """Return the scenario that scales up, with at most as many pods as wanted."""

    async def scaled(sim: Any) -> None:
        sim.controller(make)
        sim.always("at most three pods", lambda world: len(world.list("Pod")) <= 3)
        made = await sim.user.create(thing(replicas=2))
        await sim.settle()
        await sim.user.patch(made, replicas=3)
        await sim.settle()

    return scaled


EXHIBIT = Exhibit(
    "E10 random names",
    "ray-project/kuberay#715, argoproj/argo-rollouts#243, k0sproject/k0smotron#1535",
    RandomNames,
    NumberedNames,
    scaling,
    frozenset({"O4", "O10"}),
)
