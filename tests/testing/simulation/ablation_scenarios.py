"""Scenarios in which a missing safeguard of the framework shows itself."""

from datetime import timedelta
from typing import Any

from myrmidon import Controller, ControllerOptions, Done, OutputSet, Result, kinds, state
from tests.runtime.claims import ByTag, ByToken, Claims, claim
from tests.testing.simulation.things import Thing, child, thing


class Depots(Controller[Thing]):
    """Keeps a ConfigMap, one more while the size is 1, and a copy in another namespace."""

    manages = (kinds.CONFIG_MAP,)
    options = ControllerOptions(prune=True)

    @state(initial=True, condition="Stored")
    def stored(self, thing: Thing, out: OutputSet) -> Result:
        """All ConfigMaps are there."""
        out.apply(child("ConfigMap", thing.name, data={"size": str(thing.spec.size)}))
        if thing.spec.size == 1:
            out.apply(child("ConfigMap", f"{thing.name}-extra", data={"small": "yes"}))
        copy = child("ConfigMap", f"{thing.name}-copy", data={"size": str(thing.spec.size)})
        copy["metadata"]["namespace"] = "other"
        out.apply(copy, owner_refs=False)
        return Done()


async def depots(sim: Any) -> None:
    """A depot grows and is deleted."""
    sim.namespaces("other")
    sim.controller(Depots)
    made = await sim.user.create(thing())
    await sim.settle()
    await sim.user.patch(made, size=2)
    await sim.settle()
    await sim.user.patch(made, size=1)
    await sim.settle()
    await sim.user.delete(made)
    await sim.settle()


class Strays(Controller[Thing]):
    """Declares a child in another namespace with an owner reference, which is refused."""

    manages = (kinds.CONFIG_MAP,)

    @state(initial=True, condition="Strayed")
    def strayed(self, thing: Thing, out: OutputSet) -> Result:
        """There is a ConfigMap in another namespace."""
        stray = child("ConfigMap", thing.name, data={"size": "1"})
        stray["metadata"]["namespace"] = "other"
        out.apply(stray)
        return Done()


async def strays(sim: Any) -> None:
    """A Thing with a child in another namespace."""
    sim.namespaces("other")
    sim.controller(Strays)
    await sim.user.create(thing())
    await sim.settle()


def rented(store: type[ByToken], *, honours_tokens: bool) -> Any:
    """Return a scenario with an external resource that is created, resized and removed."""

    async def renting(sim: Any) -> None:
        cloud = sim.external(
            "cloud",
            honours_tokens=honours_tokens,
            visible_after=timedelta(seconds=0 if honours_tokens else 10),
        )
        sim.controller(lambda: Claims(store(cloud)))
        made = await sim.user.create(claim())
        await sim.settle()
        await sim.user.patch(made, {"spec": {"size": 2}})
        await sim.settle()
        await sim.user.delete(made)
        await sim.settle()

    return renting


by_token, by_tag = rented(ByToken, honours_tokens=True), rented(ByTag, honours_tokens=False)
