"""Claims of a resource outside the cluster, for which an ``ExternalStandIn`` is used."""

from datetime import timedelta
from typing import Any, ClassVar

from myrmidon import (
    Context,
    Controller,
    Done,
    External,
    ExternalStatus,
    Failed,
    Model,
    OutputSet,
    Resource,
    Result,
    Wait,
    state,
)
from myrmidon.api.objects.accessors import Json
from myrmidon.testing import ExternalStandIn


class ClaimSpec(Model):
    """What a claim asks for."""

    size: int = 1
    zone: str | None = None


class ClaimStatus(ExternalStatus):
    """Where the resource is."""

    size: int | None = None


class Claim(Resource[ClaimSpec, ClaimStatus], group="test.myrmidon.dev", version="v1"):
    """A claim."""


class ByToken(External[Claim, Json]):
    """A resource in a system that honours tokens and shows new resources at once."""

    grace = timedelta(0)
    name = "store"

    def __init__(self, system: ExternalStandIn) -> None:
        self.system = system

    async def observe(self, claim: Claim, id: str) -> Json | None:  # noqa: A002
        """Read it."""
        return await self.system.get(id)

    async def create(self, claim: Claim, token: str) -> str:
        """Make it."""
        return await self.system.create({"size": claim.spec.size}, token)

    def differs(self, claim: Claim, observed: Json) -> bool:
        """Compare the size."""
        return bool(observed["size"] != claim.spec.size)

    async def update(self, claim: Claim, id: str, observed: Json) -> None:  # noqa: A002
        """Resize it."""
        await self.system.update(id, {**observed, "size": claim.spec.size})

    async def delete(self, claim: Claim, id: str, observed: Json) -> None:  # noqa: A002
        """Delete it."""
        await self.system.delete(id)


class ByTag(ByToken):
    """A resource in a system that ignores tokens, and whose reads lag behind its writes."""

    grace = timedelta(seconds=30)

    async def find(self, claim: Claim, token: str) -> str | None:
        """Find the resource by its tag."""
        return await self.system.find(token)


class Claims(Controller[Claim]):
    """A controller with one state and one finalizer state."""

    externals: ClassVar[tuple[type[ByToken], ...]] = (ByToken,)

    def __init__(self, store: ByToken, *, removes: bool = True) -> None:
        self.store, self.removes = store, removes

    @state(initial=True, condition="Stored")
    async def stored(self, claim: Claim, out: OutputSet, ctx: Context) -> Result:
        """The resource is as the claim says."""
        found = await ctx.ensure(self.store)
        if isinstance(found, Wait | Failed):
            return found
        claim.status.size = found["size"]
        return Done()

    @state(finalizer=True, condition="Removed")
    async def removed(self, claim: Claim, out: OutputSet, ctx: Context) -> Result:
        """The resource is gone."""
        return await ctx.remove(self.store) if self.removes else Done()


def claim(name: str = "it", **spec: Any) -> Claim:
    """Build a claim."""
    return Claim(name=name, spec=ClaimSpec(**spec))
