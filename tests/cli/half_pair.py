"""A controller with a bug, for the tests of ``myrmidon simulate``: a crash leaves half of a pair."""

from pydantic import Field

from myrmidon import Context, Controller, Done, Model, OutputSet, Resource, Result, Status, kinds
from myrmidon import state as declared
from myrmidon.api import Json


class PairSpec(Model):
    """What the user asks for."""

    size: int = Field(default=1, ge=0, le=9)


class Pair(Resource[PairSpec, Status], group="cli.myrmidon.dev", version="v1"):
    """An object with a ConfigMap and a Secret."""


class Pairs(Controller[Pair]):
    """Creates the Secret only together with the ConfigMap."""

    manages = (kinds.CONFIG_MAP, kinds.SECRET)

    @declared(initial=True, condition="Configured", then=("secured", "complete"))
    async def configured(self, pair: Pair, out: OutputSet, ctx: Context) -> Result:
        """There is a ConfigMap; one without a Secret is never noticed."""
        is_new = await ctx.get(kinds.CONFIG_MAP, pair.name) is None
        out.apply(child("ConfigMap", pair.name, data={"size": str(pair.spec.size)}))
        return Done(goto="secured" if is_new else "complete")

    @declared(condition="Secured", then="complete")
    def secured(self, pair: Pair, out: OutputSet) -> Result:
        """There is a Secret as well."""
        out.apply(child("Secret", pair.name))
        return Done()

    @declared(condition="Complete")
    def complete(self, pair: Pair, out: OutputSet) -> Result:
        """There are both, it seems."""
        return Done()


def child(kind: str, name: str, **content: object) -> Json:
    """Build a child."""
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **content}
