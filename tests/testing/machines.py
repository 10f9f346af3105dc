"""Small controllers: some that converge, and some that do not."""

from datetime import timedelta

from myrmidon import (
    Context,
    Controller,
    Done,
    Model,
    OutputSet,
    Resource,
    Result,
    Status,
    Wait,
    kinds,
    state,
)
from myrmidon.api import Json


class ThingSpec(Model):
    """What the user asks for."""

    size: int = 1


class Thing(Resource[ThingSpec, Status], group="demo.myrmidon.dev", version="v1"):
    """A resource with a ConfigMap."""


def config_map(name: str, **data: str) -> Json:
    """Build the child."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": data,
    }


class Calm(Controller[Thing]):
    """Applies its ConfigMap, and converges."""

    manages = (kinds.CONFIG_MAP,)

    @state(initial=True, then="checked")
    def made(self, thing: Thing, out: OutputSet) -> Result:
        """The ConfigMap is there."""
        out.apply(config_map(thing.name, size=str(thing.spec.size)))
        return Done()

    @state()
    def checked(self, thing: Thing, out: OutputSet) -> Result:
        """It is not too big."""
        if thing.spec.size > 9:
            return Wait("TooBig", "nine is the most", after=timedelta(minutes=1))
        return Done()


class Restless(Controller[Thing]):
    """Applies another value in every pass, as a controller does that writes the time."""

    manages = (kinds.CONFIG_MAP,)

    def __init__(self) -> None:
        self._passes = 0

    @state(initial=True)
    def made(self, thing: Thing, out: OutputSet, ctx: Context) -> Result:
        """The ConfigMap has the number of this pass, so this is never settled."""
        self._passes += 1
        out.apply(config_map(thing.name, passes=str(self._passes)))
        return Done()
