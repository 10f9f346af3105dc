"""A small kind, its controller, and a scenario that runs in a few milliseconds."""

from typing import Any

from pydantic import Field

from myrmidon import Controller, Done, Model, OutputSet, Resource, Result, Status, kinds, state
from myrmidon.api import Json


class ThingSpec(Model):
    """What the user asks for."""

    size: int = Field(default=1, ge=0)


class Thing(Resource[ThingSpec, Status], group="sim.myrmidon.dev", version="v1"):
    """A thing, which has a ConfigMap and a Secret."""


def child(kind: str, name: str, **content: Any) -> Json:
    """Build a child."""
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **content}


class Things(Controller[Thing]):
    """Keeps a ConfigMap and a Secret for each Thing."""

    manages = (kinds.CONFIG_MAP, kinds.SECRET)

    @state(initial=True, condition="Configured", then="secured")
    def configured(self, thing: Thing, out: OutputSet) -> Result:
        """There is a ConfigMap with the size."""
        out.apply(child("ConfigMap", thing.name, data={"size": str(thing.spec.size)}))
        return Done()

    @state(condition="Secured")
    def secured(self, thing: Thing, out: OutputSet) -> Result:
        """There is a Secret."""
        out.apply(child("Secret", thing.name, stringData={"key": "value"}))
        return Done()

    @state(finalizer=True, condition="Released")
    def released(self, thing: Thing, out: OutputSet) -> Result:
        """Nothing is left to do outside the cluster."""
        return Done()


def thing(size: int = 1, name: str = "a") -> Thing:
    """Build a Thing."""
    return Thing(name=name, spec=ThingSpec(size=size))


async def life(sim: Any) -> None:
    """Create a Thing, change it, and delete it."""
    sim.controller(Things)
    made = await sim.user.create(thing())
    await sim.settle()
    await sim.user.patch(made, size=2)
    await sim.settle()
    await sim.user.delete(made)
    await sim.settle()


async def growth(sim: Any) -> None:
    """Create a Thing and change it."""
    sim.controller(Things)
    made = await sim.user.create(thing())
    await sim.settle()
    await sim.user.patch(made, size=2)
    await sim.settle()
