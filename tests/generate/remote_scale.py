"""A controller that scales on a remote cluster; in a module of its own, because ``usage`` reads it."""

from myrmidon.api.objects import kinds
from myrmidon.fsm import Controller, Done, Manages, Reads, Result, state
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from tests.runtime.things import Thing


class Narrow(Controller[Thing]):
    """Scales on another cluster, and declares what it caches there."""

    manages = (
        Manages(kinds.CONFIG_MAP.at("edge"), namespaces=("shop",)),
        kinds.DEPLOYMENT.at("edge"),
    )
    reads = (Reads(kinds.SECRET.at("edge"), cached=False),)

    @state(initial=True, condition="Scaled")
    def scaled(self, it: Thing, out: OutputSet, ctx: Context) -> Result:
        """The Deployment has as many replicas as the object asks for."""
        out.scale(kinds.DEPLOYMENT, it.name, replicas=it.spec.size, cluster="edge")
        return Done()
