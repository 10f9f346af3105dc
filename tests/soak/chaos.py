"""The controllers that the soak runs: one for each way in which children are written and removed.

    Team    owned children with a finalizer graph and pruning
    Spread  children without owner references in two namespaces, tracked and pruned
    Claim   children by server-side apply, pruned
    Call    a state that waits for a slow service before it writes its child

They share one spec: a text, and the parts that each need a child.  ``oracle`` says independently of
them which children must exist.
"""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

from pydantic import Field

from myrmidon.api import Model, Resource, Status
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.fsm import Controller, ControllerOptions, Done, Result, state
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet

GROUP, VERSION = "soak.myrmidon.dev", "v1"
OPTIONS = ControllerOptions(
    prune=True, retry_min=timedelta(seconds=0.2), retry_max=timedelta(seconds=3)
)
TWINS = {"soak-a": "soak-b", "soak-s": "soak-t"}
"""For each namespace of parents, the other one that a Spread writes into."""


class ChaosSpec(Model):
    """What every parent asks for."""

    text: str = ""
    parts: list[str] = Field(default_factory=list)


class Team(Resource[ChaosSpec, Status], group=GROUP, version=VERSION):
    """Owns a ConfigMap for each part, and a Secret."""


class Spread(Resource[ChaosSpec, Status], group=GROUP, version=VERSION):
    """Tracks a ConfigMap for each part in both namespaces."""


class Claim(Resource[ChaosSpec, Status], group=GROUP, version=VERSION):
    """Applies a ConfigMap for each part server-side."""


class Call(Resource[ChaosSpec, Status], group=GROUP, version=VERSION):
    """Calls a service before it writes its ConfigMap."""


class Teams(Controller[Team]):
    """Owned children, a finalizer graph, pruning."""

    manages = (kinds.CONFIG_MAP, kinds.SECRET)
    options = OPTIONS

    @state(initial=True, condition="Secured", then="staffed")
    def secured(self, team: Team, out: OutputSet) -> Result:
        """The Secret is there."""
        name = f"team-{team.name}"
        out.apply(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": name},
                "stringData": {"text": team.spec.text},
            }
        )
        return Done()

    @state(condition="Staffed")
    def staffed(self, team: Team, out: OutputSet) -> Result:
        """Each part has its ConfigMap."""
        out.apply_all(children("team", team.name, team.spec, team.namespace))
        return Done()

    @state(finalizer=True, condition="Drained", then="left")
    def drained(self, team: Team, out: OutputSet) -> Result:
        """The Secret is deleted before the rest."""
        out.delete(kinds.SECRET, f"team-{team.name}")
        return Done()

    @state(condition="Left")
    async def left(self, team: Team, out: OutputSet) -> Result:
        """The service that knew the team has forgotten it."""
        await asyncio.sleep(0.1)  # noqa: TID251 - a service outside
        return Done()


class Spreads(Controller[Spread]):
    """Tracked children across namespaces."""

    manages = (kinds.CONFIG_MAP,)
    options = OPTIONS

    @state(initial=True, condition="Spread")
    def spread(self, it: Spread, out: OutputSet) -> Result:
        """Each part has a ConfigMap here and in the other namespace."""
        for namespace in (it.namespace, TWINS[it.namespace]):
            for child in children("spread", it.name, it.spec, namespace):
                out.apply(child, owner_refs=False)
        return Done()


class Claims(Controller[Claim]):
    """Server-side apply."""

    manages = (kinds.CONFIG_MAP,)
    options = OPTIONS

    @state(initial=True, condition="Claimed")
    def claimed(self, claim: Claim, out: OutputSet) -> Result:
        """Each part has its ConfigMap, also if other clients write it."""
        for child in children("claim", claim.name, claim.spec, claim.namespace):
            out.apply(child, server_side=True, force=True)
        return Done()


class Calls(Controller[Call]):
    """Slow awaits before, between and at the end of writes."""

    manages = (kinds.CONFIG_MAP,)
    options = OPTIONS

    @state(initial=True, condition="Called", then="answered")
    async def called(self, call: Call, out: OutputSet, _ctx: Context) -> Result:
        """The service has answered; the longer the text, the longer it takes."""
        await asyncio.sleep(0.1 + len(call.spec.text) % 7 / 10)  # noqa: TID251 - a service outside
        return Done()

    @state(condition="Answered")
    async def answered(self, call: Call, out: OutputSet, _ctx: Context) -> Result:
        """The answer is in a ConfigMap for each part."""
        out.apply_all(children("call", call.name, call.spec, call.namespace))
        await asyncio.sleep(0.1)  # noqa: TID251 - a service outside
        return Done()

    @state(finalizer=True, condition="Hung")
    async def hung_up(self, call: Call, out: OutputSet, _ctx: Context) -> Result:
        """The service has been told."""
        await asyncio.sleep(0.3)  # noqa: TID251 - a service outside
        return Done()


RESOURCES = (Team, Spread, Claim, Call)
CONTROLLERS = (Teams, Spreads, Claims, Calls)


def children(prefix: str, name: str, spec: ChaosSpec, namespace: str) -> Iterator[Json]:
    """Build a ConfigMap for each part."""
    for part in spec.parts:
        yield {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"{prefix}-{name}-{part}", "namespace": namespace},
            "data": {"text": spec.text, "part": part},
        }
